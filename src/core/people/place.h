/* SPDX-License-Identifier: Apache-2.0 */
/* place: where things are: organization, projects, environments (ID-1). One sees one's own organization only.
 */
#ifndef CORE_PEOPLE_PLACE_H
#define CORE_PEOPLE_PLACE_H

#include "core/op.h"

extern const struct op place_ops[];

#endif
