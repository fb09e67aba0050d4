-- min_compatible: 2
-- Expand: a program that knows schema 2 does not see the new column.
ALTER TABLE item ADD COLUMN remark TEXT;
