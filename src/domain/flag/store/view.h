/* SPDX-License-Identifier: Apache-2.0 */
/* view: flags, configs and segments as the REST of them shows and takes them. Private to the store's operations. */
#ifndef DOMAIN_FLAG_STORE_VIEW_H
#define DOMAIN_FLAG_STORE_VIEW_H

#include "core/op.h"
#include "domain/flag/store/item.h"

/* All inputs in one: each operation has the fields it takes. */
struct item_in {
	str id, env_id, key, type, description; /* id: the project's */
	struct json *default_value, *rules, *allow_list, *deny_list, *json_schema;
	str after;
	int64_t limit;
};

extern const struct field view_list_in[], view_get_in[], view_delete_in[];
extern const struct field view_flag_create_in[], view_config_create_in[], view_segment_create_in[];
extern const struct field view_patch_in[], view_config_patch_in[];
extern const struct field view_value_put_in[], view_segment_put_in[];
extern const struct field view_flag_out[], view_config_out[], view_segment_out[];

/* What the input says of an item. */
struct item_new view_new(enum resource r, const struct item_in *in);

/* Its members into the object that is open; env_id empty: of the project. Without a state: the identity. */
void view_write(struct json_out *o, str project_id, str env_id, const struct store_item *item);

/* "environments": [{id, key, version}] */
void view_write_versions(struct json_out *o, const struct project *p);

#endif
