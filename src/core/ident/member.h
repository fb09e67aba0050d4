/* SPDX-License-Identifier: Apache-2.0 */
/*
 * member: the people of an organization and its trusted back ends (ID-2), with their roles.
 *
 *	created --disable--> disabled (every token and session of theirs ends in the same transaction)
 *	   ^------enable--------'
 *
 * Nobody is deleted: the record names them for ever. There is always at least one admin.
 */
#ifndef CORE_IDENT_MEMBER_H
#define CORE_IDENT_MEMBER_H

#include "core/op.h"

/* An address as it is stored: in lower case. E_INVALID  it has not the form of one */
status member_email(struct ctx *cx, str email, str *out_email) MUST_USE;

#endif
