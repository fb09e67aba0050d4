-- min_compatible: 1
CREATE TABLE item (
	id BIGINT NOT NULL PRIMARY KEY,
	name TEXT UNIQUE,
	parent BIGINT REFERENCES item (id),
	amount BIGINT NOT NULL CHECK (amount >= 0),
	data BYTEA,
	extreme BIGINT
);
CREATE TABLE counter (
	id BIGINT NOT NULL PRIMARY KEY,
	n BIGINT NOT NULL
);
