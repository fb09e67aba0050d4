-- min_compatible: 4
-- Contract: programs that still read the column cannot work any more.
ALTER TABLE item DROP COLUMN data;
