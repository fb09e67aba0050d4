/* SPDX-License-Identifier: Apache-2.0 */
#include "core/gate/gate.h"

const struct op gate_ops[] = {
	{ 0 },
};
