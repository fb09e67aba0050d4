/* SPDX-License-Identifier: Apache-2.0 */
/* A build without the console (-Dconsole=false): for who has no Node, and for builds that serve nobody. */
#include "face/console/console.h"

const struct http_file console_files[] = { { .path = "" } };
const size_t console_file_count = 0;
