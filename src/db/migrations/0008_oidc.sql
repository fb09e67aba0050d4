-- min_compatible: 7
-- People who sign in at an identity provider (ID-8).

-- Whose account there is whose here. Made at the first sign-in; from then on only these two words count, and
-- an address that changes there moves nobody.
CREATE TABLE oidc_identity (
	org_id TEXT NOT NULL,
	issuer TEXT NOT NULL,
	subject TEXT NOT NULL,
	principal_id TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (org_id, issuer, subject),
	UNIQUE (org_id, issuer, principal_id),
	FOREIGN KEY (org_id, principal_id) REFERENCES principal (org_id, principal_id)
);

-- Sign-ins that came back, so that none does twice: not a tenant's, since nobody is known yet. Gone when they
-- would be too old anyway.
CREATE TABLE oidc_used (
	state TEXT NOT NULL PRIMARY KEY, -- SHA-256, hex
	until BIGINT NOT NULL
);
