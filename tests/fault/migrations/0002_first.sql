-- min_compatible: 1
-- Several steps, so that there is something between two migrations.

CREATE TABLE rig_first (
	id BIGINT NOT NULL PRIMARY KEY,
	note TEXT NOT NULL
);
