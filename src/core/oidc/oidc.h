/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oidc: people who sign in at an identity provider (ID-8; OpenID Connect, code with PKCE).
 *
 *	GET /session/oidc          a cookie keeps the flow      --303--> the provider
 *	GET /session/oidc/callback code for ID token, claims,
 *	                           who it is, a session         --303--> where they wanted to go
 *
 * Who it is: the account (issuer, subject) that a member is bound to. A member who is not bound
 * yet is found by the address, if the provider says that it is theirs, and bound to the account
 * from then on. Strangers are refused, but for newcomers of listed domains, where the settings
 * say so. What is refused although the member is known is on record.
 */
#ifndef CORE_OIDC_OIDC_H
#define CORE_OIDC_OIDC_H

#include "core/op.h"

#define OIDC_COOKIE   "__Host-oidc"
#define OIDC_CALLBACK "/api/v1/session/oidc/callback"

extern const struct op oidc_ops[];

#endif
