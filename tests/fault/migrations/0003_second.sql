-- min_compatible: 1

CREATE TABLE rig_second (
	id BIGINT NOT NULL PRIMARY KEY,
	body TEXT NOT NULL
);
CREATE INDEX rig_second_body ON rig_second (substr(body, 1, 40));
