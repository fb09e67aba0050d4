/* SPDX-License-Identifier: Apache-2.0 */
/* place: where things are: organization, projects, environments (ID-1). One sees one's own organization only.
 */
#ifndef CORE_PEOPLE_PLACE_H
#define CORE_PEOPLE_PLACE_H

#include "core/op.h"

enum { PLACE_ORGS, PLACE_PROJECTS, PLACE_ENVIRONMENTS };
extern const struct op place_ops[]; /* by these; and a zero record */

#endif
