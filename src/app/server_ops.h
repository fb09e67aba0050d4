/* SPDX-License-Identifier: Apache-2.0 */
/* server_ops: what the server says about itself: alive, ready, version, settings, figures, its own API. */
#ifndef APP_SERVER_OPS_H
#define APP_SERVER_OPS_H

#include "core/op.h"

extern const struct op server_ops[];

#endif
