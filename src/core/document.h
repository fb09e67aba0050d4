/* SPDX-License-Identifier: Apache-2.0 */
/* document: what anybody can ask about a JSON document: its canonical form and its hash. */
#ifndef CORE_DOCUMENT_H
#define CORE_DOCUMENT_H

#include "core/op.h"

extern const struct op document_ops[];

#endif
