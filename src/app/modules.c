/* SPDX-License-Identifier: Apache-2.0 */
/* The modules of the program. A new one is listed here, by hand, once. */
#include "app/app.h"

#include "app/server_ops.h"
#include "core/document.h"

const struct op *const app_ops[] = {
	server_ops,
	document_ops,
	NULL,
};
