-- min_compatible: 1

CREATE TABLE rig_counter (
	one BIGINT NOT NULL PRIMARY KEY,
	n BIGINT NOT NULL
);
INSERT INTO rig_counter (one, n) VALUES (1, 0);
