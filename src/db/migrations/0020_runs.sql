-- min_compatible: 20
-- What was approved is what runs (PA-3, PA-6): the facts of a decision are kept with it, and no version comes back. An older
-- program would write proposals without them and could not check the seal of those that have them.

-- What only the request knew when policy decided, JSON (core/proposal/agreed); '': from before there were any.
ALTER TABLE proposal ADD COLUMN facts TEXT NOT NULL DEFAULT '';

-- The last version of each tool of another system that was deleted: a tool of its name goes on from there.
CREATE TABLE outside_tool_past (
	org_id TEXT NOT NULL REFERENCES org (org_id),
	name TEXT NOT NULL,
	version BIGINT NOT NULL,
	PRIMARY KEY (org_id, name)
);

-- How often somebody has authorized us there, or taken it back: what renews itself does not count.
ALTER TABLE upstream ADD COLUMN auth_given BIGINT NOT NULL DEFAULT 0;
