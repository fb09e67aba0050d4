/* SPDX-License-Identifier: Apache-2.0 */
#include "app/config.h"

#include "base/check.h"
#include "base/fault.h"
#include "base/limits.h"
#include "http/client/guard.h"
#include "base/scoped.h"
#include "face/cli/nearest.h"
#include "json/json.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>

#define PREFIX "COUNTERSIGN_"

/* A value on its way in: which setting, from where, and how to name that place to a person. */
struct entry {
	const struct setting *setting;
	enum setting_source source;
	str place;
};

static void *
member(struct config *c, const struct setting *s)
{
	return (char *)c + s->offset;
}

static const void *
member_of(const struct config *c, const struct setting *s)
{
	return (const char *)c + s->offset;
}

static size_t
row_of(const struct setting *s)
{
	return (size_t)(s - settings);
}

/* Keeps the value unless a better source has spoken already. */
static bool
wins(struct config *c, const struct entry *e)
{
	size_t row = row_of(e->setting);

	if (e->source < c->source[row])
		return false;
	c->source[row] = e->source;
	return true;
}

static status
set_int(struct ctx *cx, struct config *c, const struct entry *e, bool is_number, int64_t n)
{
	const struct setting *s = e->setting;

	if (!is_number || n < s->min || n > s->max)
		return fail(cx, E_INVALID, "%.*s must be a whole number from %" PRId64 " to %" PRId64,
			STR_ARG(e->place), s->min, s->max);
	if (wins(c, e))
		*(int64_t *)member(c, s) = n;
	return OK;
}

static bool
is_printable(str text)
{
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.ptr[i] < 0x20 || text.ptr[i] == 0x7f)
			return false;
	return true;
}

/* A value that may be secret is not repeated in the message. */
static status
refuse_text(struct ctx *cx, const struct entry *e, str text)
{
	const struct setting *s = e->setting;
	const char *accepts = s->accepts ? s->accepts : "some text, not empty";
	str guess = { 0 };

	if (s->mask || !is_printable(text) || text.len > 80)
		return fail(cx, E_INVALID, "%.*s must be %s", STR_ARG(e->place), accepts);
	if (s->guess)
		guess = s->guess(cx->arena, text);
	if (guess.len)
		return fail(cx, E_INVALID, "%.*s must be %s, not \"%.*s\"; did you mean %.*s?",
			STR_ARG(e->place), accepts, STR_ARG(text), STR_ARG(guess));
	return fail(
		cx, E_INVALID, "%.*s must be %s, not \"%.*s\"", STR_ARG(e->place), accepts, STR_ARG(text));
}

static status
set_text(struct ctx *cx, struct config *c, const struct entry *e, str text)
{
	const struct setting *s = e->setting;

	if (text.len > LIMIT_SETTING_BYTES)
		return fail(cx, E_INVALID, "%.*s is longer than %u bytes", STR_ARG(e->place),
			LIMIT_SETTING_BYTES);
	if (!is_printable(text) || !(s->check ? s->check(text) : text.len > 0))
		return refuse_text(cx, e, text);
	if (wins(c, e))
		*(str *)member(c, s) = text;
	return OK;
}

/* A value that came as text, whatever it is. */
static status
set(struct ctx *cx, struct config *c, const struct entry *e, str text)
{
	int64_t n = 0;
	bool is_number;

	if (e->setting->type == SETTING_TEXT)
		return set_text(cx, c, e, text);
	is_number = str_to_int(text, &n);
	return set_int(cx, c, e, is_number, n);
}

void
config_defaults(struct config *c)
{
	*c = (struct config){ 0 };
	for (size_t i = 0; i < setting_count; i++) {
		const struct setting *s = &settings[i];
		str text = str_of(s->flag.fallback);

		if (s->type == SETTING_TEXT)
			*(str *)member(c, s) = text;
		else
			CHECK(str_to_int(text, member(c, s)));
	}
}

/* --- flags --- */

status
config_read_flags(struct ctx *cx, const struct cli_call *call, struct config *c)
{
	for (size_t i = 0; i < call->given_count; i++) {
		for (size_t row = 0; row < setting_count; row++) {
			struct entry e = { &settings[row], FROM_FLAG, { 0 } };

			if (call->given[i].flag != &settings[row].flag)
				continue;
			e.place = arena_printf(cx->arena, "--%s", settings[row].flag.name);
			TRY(set(cx, c, &e, call->given[i].value));
		}
	}
	return OK;
}

/* --- environment --- */

str
config_variable(struct arena *a, const struct setting *s)
{
	size_t n = strlen(s->flag.name), prefix = sizeof(PREFIX) - 1;
	char *text = arena_alloc(a, prefix + n + 1);

	memcpy(text, PREFIX, prefix);
	for (size_t i = 0; i < n; i++) {
		char letter = s->flag.name[i];

		text[prefix + i] = letter == '-' ? '_' : (char)(letter - 'a' + 'A');
	}
	return (str){ text, prefix + n };
}

static bool
belongs_to_tests(str name)
{
	return (fault_enabled() && str_eq(name, STR(PREFIX "FAULT"))) || str_eq(name, STR(PREFIX "BUILD")) ||
	       str_starts(name, STR(PREFIX "TEST_"));
}

static status
unknown_variable(struct ctx *cx, str name)
{
	struct nearest guess = { 0 };

	if (belongs_to_tests(name))
		return OK;
	if (str_eq(name, STR(PREFIX "FAULT")))
		return fail(cx, E_INVALID,
			"COUNTERSIGN_FAULT is set, but fault points are not compiled into this program; "
			"unset it");
	/* without what they all have in common, or all would be near */
	for (size_t row = 0; row < setting_count; row++)
		nearest_try(&guess, str_skip(name, sizeof(PREFIX) - 1),
			config_variable(cx->arena, &settings[row]).ptr + sizeof(PREFIX) - 1);
	if (guess.name)
		return fail(cx, E_INVALID, "the variable %.*s is no setting; did you mean " PREFIX "%s?",
			STR_ARG(name), guess.name);
	return fail(cx, E_INVALID, "the variable %.*s is no setting; `countersign help settings` lists them",
		STR_ARG(name));
}

static status
read_variable(struct ctx *cx, str name, str value, struct config *c)
{
	for (size_t row = 0; row < setting_count; row++) {
		struct entry e = { &settings[row], FROM_ENVIRONMENT, name };

		if (str_eq(name, config_variable(cx->arena, &settings[row])))
			return set(cx, c, &e, value);
	}
	return unknown_variable(cx, name);
}

status
config_read_environment(struct ctx *cx, char *const *env, struct config *c)
{
	str name, value;

	for (; *env; env++) {
		str entry = str_of(*env);

		if (str_starts(entry, STR(PREFIX)) && str_cut(entry, '=', &name, &value))
			TRY(read_variable(cx, name, value, c));
	}
	return OK;
}

/* --- file --- */

static status
unknown_key(struct ctx *cx, str file, str key)
{
	struct nearest guess = { 0 };

	for (size_t row = 0; row < setting_count; row++)
		if (!settings[row].not_in_file)
			nearest_try(&guess, key, settings[row].flag.name);
	if (guess.name)
		return fail(cx, E_INVALID, "\"%.*s\" in %.*s is no setting; did you mean \"%s\"?",
			STR_ARG(key), STR_ARG(file), guess.name);
	return fail(cx, E_INVALID, "\"%.*s\" in %.*s is no setting; `countersign help settings` lists them",
		STR_ARG(key), STR_ARG(file));
}

static const struct setting *
find_key(str key)
{
	for (size_t row = 0; row < setting_count; row++)
		if (!settings[row].not_in_file && str_eq(key, str_of(settings[row].flag.name)))
			return &settings[row];
	return NULL;
}

static status
read_member(struct ctx *cx, str file, const struct json *value, struct config *c)
{
	struct entry e = { .setting = find_key(value->key), .source = FROM_FILE };
	int64_t n = 0;
	bool is_number;

	if (!e.setting)
		return unknown_key(cx, file, value->key);
	e.place = arena_printf(cx->arena, "\"%s\" in %.*s", e.setting->flag.name, STR_ARG(file));
	if (e.setting->type == SETTING_INT) {
		is_number = value->type == JSON_NUMBER && json_to_int(value, &n);
		return set_int(cx, c, &e, is_number, n);
	}
	if (value->type != JSON_STRING)
		return fail(cx, E_INVALID, "%.*s must be a string", STR_ARG(e.place));
	return set_text(cx, c, &e, value->text);
}

status
config_read_text(struct ctx *cx, str name, str text, struct config *c)
{
	struct json *doc;

	if (json_parse(cx, text, &doc) != OK)
		return fail(cx, E_INVALID, "%.*s cannot be read as settings: %.*s", STR_ARG(name),
			STR_ARG(ctx_message(cx, cx->error.code)));
	if (doc->type != JSON_OBJECT)
		return fail(cx, E_INVALID, "%.*s must hold a JSON object, such as {\"log-level\": \"debug\"}",
			STR_ARG(name));
	JSON_EACH (value, doc)
		TRY(read_member(cx, name, value, c));
	return OK;
}

static status
read_file(struct ctx *cx, str name, struct config *c)
{
	char *text = arena_alloc(cx->arena, LIMIT_CONFIG_FILE + 1);
	scoped_fd fd = open(arena_cstr(cx->arena, name), O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n = 1;

	if (fd < 0)
		return fail(cx, E_UNAVAILABLE, "the settings file %.*s cannot be opened: %s", STR_ARG(name),
			strerror(errno));
	while (n > 0 && len <= LIMIT_CONFIG_FILE) {
		n = read(fd, text + len, LIMIT_CONFIG_FILE + 1 - len);
		len += n > 0 ? (size_t)n : 0;
	}
	if (n < 0)
		return fail(cx, E_UNAVAILABLE, "the settings file %.*s cannot be read: %s", STR_ARG(name),
			strerror(errno));
	if (len > LIMIT_CONFIG_FILE)
		return fail(cx, E_INVALID, "the settings file %.*s is larger than %zu bytes", STR_ARG(name),
			LIMIT_CONFIG_FILE);
	return config_read_text(cx, name, (str){ text, len }, c);
}

/* --- all of it --- */

static status
check_oidc(struct ctx *cx, const struct config *c)
{
	if (!c->oidc_issuer.len != !c->oidc_client_id.len)
		return fail(cx, E_INVALID, "oidc-issuer and oidc-client-id come together; %s is missing",
			c->oidc_client_id.len ? "oidc-issuer" : "oidc-client-id");
	if (c->oidc_issuer.len && !c->public_url.len)
		return fail(cx, E_INVALID,
			"oidc-issuer needs public-url: the provider sends browsers back there");
	if (!c->oidc_newcomer_role.len != !c->oidc_newcomer_domains.len)
		return fail(cx, E_INVALID,
			"oidc-newcomer-role and oidc-newcomer-domains come together; %s is missing",
			c->oidc_newcomer_domains.len ? "oidc-newcomer-role" : "oidc-newcomer-domains");
	if (str_eq(c->oidc_newcomer_role, STR("admin"))) /* another role that is one is refused at sign-in */
		return fail(
			cx, E_INVALID, "oidc-newcomer-role may not be admin: nobody has added these people");
	return OK;
}

status
config_check(struct ctx *cx, const struct config *c)
{
	if (!c->tls_certificate.len != !c->tls_key.len)
		return fail(cx, E_INVALID, "tls-certificate and tls-key come together; %s is missing",
			c->tls_key.len ? "tls-certificate" : "tls-key");
	return check_oidc(cx, c);
}

status
config_load(struct ctx *cx, const struct cli_call *call, char *const *env, struct config *out)
{
	struct config c;

	config_defaults(&c);
	TRY(config_read_flags(cx, call, &c));
	TRY(config_read_environment(cx, env, &c));
	if (c.config.len)
		TRY(read_file(cx, c.config, &c));
	TRY(config_check(cx, &c));
	*out = c;
	return OK;
}

struct config_address
config_listen(const struct config *c)
{
	size_t colon = c->listen.len;
	int64_t port = 0;
	str host;

	while (c->listen.ptr[colon - 1] != ':')
		colon--;
	CHECK(str_to_int(str_skip(c->listen, colon), &port));
	host = (str){ c->listen.ptr, colon - 1 };
	if (host.ptr[0] == '[')
		host = (str){ host.ptr + 1, host.len - 2 };
	return (struct config_address){ host, (int)port };
}

/* 127.0.0.0/8 as an address; 127.example.org is a name and could be anywhere. */
static bool
is_loopback_v4(str host)
{
	for (size_t i = 0; i < host.len; i++)
		if (host.ptr[i] != '.' && (host.ptr[i] < '0' || host.ptr[i] > '9'))
			return false;
	return str_starts(host, STR("127."));
}

bool
config_is_loopback(str host)
{
	return is_loopback_v4(host) || str_eq(host, STR("::1")) || str_eq_nocase(host, STR("localhost"));
}

str
config_shown(struct arena *a, const struct config *c, const struct setting *s)
{
	str text;

	if (s->type == SETTING_INT)
		return arena_printf(a, "%" PRId64, *(const int64_t *)member_of(c, s));
	text = *(const str *)member_of(c, s);
	return s->mask ? s->mask(a, text) : text;
}

const char *
config_source_name(enum setting_source source)
{
	static const char *const names[] = { "default", "file", "environment", "flag" };

	return names[source];
}

struct http_proxies
config_proxies(struct arena *a, const struct config *c)
{
	str one, rest = c->trusted_proxies;
	struct http_net *nets = arena_alloc(a, (rest.len + 1) * sizeof(*nets));
	struct http_proxies p = { .nets = nets };

	while (rest.len) {
		if (!str_cut(rest, ',', &one, &rest)) {
			one = rest;
			rest = (str){ 0 };
		}
		CHECK(http_net_read(str_trim(one), &nets[p.count++]));
	}
	return p;
}
