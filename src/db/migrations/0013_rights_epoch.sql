-- min_compatible: 12
-- What a server remembers of a caller is good as long as this number is the same (docs/decisions/0015): every change of a
-- row that says who somebody is and what they may do draws another one, in its own transaction, whoever makes it. It is
-- drawn and not counted: a number that was rolled back, or lost with a primary, must not come again with other rights.

CREATE TABLE rights_epoch (
	org_id TEXT NOT NULL PRIMARY KEY,
	epoch BIGINT NOT NULL
);

-- A new token or principal is nothing that anybody remembers already; everything else is a change.

-- engine: sqlite
INSERT INTO rights_epoch (org_id, epoch) SELECT org_id, random() FROM org;
CREATE TRIGGER rights_org_insert AFTER INSERT ON org
BEGIN INSERT INTO rights_epoch (org_id, epoch) VALUES (NEW.org_id, random()); END;
CREATE TRIGGER rights_org_update AFTER UPDATE ON org
BEGIN UPDATE rights_epoch SET epoch = random() WHERE org_id IN (OLD.org_id, NEW.org_id); END;
CREATE TRIGGER rights_org_delete AFTER DELETE ON org
BEGIN UPDATE rights_epoch SET epoch = random() WHERE org_id = OLD.org_id; END;
CREATE TRIGGER rights_token_update AFTER UPDATE ON token
BEGIN UPDATE rights_epoch SET epoch = random() WHERE org_id IN (OLD.org_id, NEW.org_id); END;
CREATE TRIGGER rights_token_delete AFTER DELETE ON token
BEGIN UPDATE rights_epoch SET epoch = random() WHERE org_id = OLD.org_id; END;
CREATE TRIGGER rights_principal_update AFTER UPDATE ON principal
BEGIN UPDATE rights_epoch SET epoch = random() WHERE org_id IN (OLD.org_id, NEW.org_id); END;
CREATE TRIGGER rights_principal_delete AFTER DELETE ON principal
BEGIN UPDATE rights_epoch SET epoch = random() WHERE org_id = OLD.org_id; END;
CREATE TRIGGER rights_principal_role_insert AFTER INSERT ON principal_role
BEGIN UPDATE rights_epoch SET epoch = random() WHERE org_id = NEW.org_id; END;
CREATE TRIGGER rights_principal_role_update AFTER UPDATE ON principal_role
BEGIN UPDATE rights_epoch SET epoch = random() WHERE org_id IN (OLD.org_id, NEW.org_id); END;
CREATE TRIGGER rights_principal_role_delete AFTER DELETE ON principal_role
BEGIN UPDATE rights_epoch SET epoch = random() WHERE org_id = OLD.org_id; END;
CREATE TRIGGER rights_role_insert AFTER INSERT ON role
BEGIN UPDATE rights_epoch SET epoch = random() WHERE org_id = NEW.org_id; END;
CREATE TRIGGER rights_role_update AFTER UPDATE ON role
BEGIN UPDATE rights_epoch SET epoch = random() WHERE org_id IN (OLD.org_id, NEW.org_id); END;
CREATE TRIGGER rights_role_delete AFTER DELETE ON role
BEGIN UPDATE rights_epoch SET epoch = random() WHERE org_id = OLD.org_id; END;
CREATE TRIGGER rights_agent_tool_insert AFTER INSERT ON agent_tool
BEGIN UPDATE rights_epoch SET epoch = random() WHERE org_id = NEW.org_id; END;
CREATE TRIGGER rights_agent_tool_update AFTER UPDATE ON agent_tool
BEGIN UPDATE rights_epoch SET epoch = random() WHERE org_id IN (OLD.org_id, NEW.org_id); END;
CREATE TRIGGER rights_agent_tool_delete AFTER DELETE ON agent_tool
BEGIN UPDATE rights_epoch SET epoch = random() WHERE org_id = OLD.org_id; END;
CREATE TRIGGER rights_tool_override_insert AFTER INSERT ON tool_override
BEGIN UPDATE rights_epoch SET epoch = random() WHERE org_id = NEW.org_id; END;
CREATE TRIGGER rights_tool_override_update AFTER UPDATE ON tool_override
BEGIN UPDATE rights_epoch SET epoch = random() WHERE org_id IN (OLD.org_id, NEW.org_id); END;
CREATE TRIGGER rights_tool_override_delete AFTER DELETE ON tool_override
BEGIN UPDATE rights_epoch SET epoch = random() WHERE org_id = OLD.org_id; END;

-- engine: postgres
CREATE FUNCTION rights_draw() RETURNS BIGINT LANGUAGE sql VOLATILE AS $$
	SELECT hashtextextended(CAST(gen_random_uuid() AS TEXT), 0)
$$;
CREATE FUNCTION rights_begin() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO rights_epoch (org_id, epoch) VALUES (NEW.org_id, rights_draw());
	RETURN NULL;
END $$;
CREATE FUNCTION rights_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE rights_epoch SET epoch = rights_draw() WHERE org_id IN (OLD.org_id, NEW.org_id);
	RETURN NULL;
END $$;
INSERT INTO rights_epoch (org_id, epoch) SELECT org_id, rights_draw() FROM org;
CREATE TRIGGER rights_org_insert AFTER INSERT ON org FOR EACH ROW EXECUTE FUNCTION rights_begin();
CREATE TRIGGER rights_org AFTER UPDATE OR DELETE ON org FOR EACH ROW EXECUTE FUNCTION rights_change();
CREATE TRIGGER rights_token AFTER UPDATE OR DELETE ON token FOR EACH ROW EXECUTE FUNCTION rights_change();
CREATE TRIGGER rights_principal AFTER UPDATE OR DELETE ON principal FOR EACH ROW EXECUTE FUNCTION rights_change();
CREATE TRIGGER rights_principal_role AFTER INSERT OR UPDATE OR DELETE ON principal_role FOR EACH ROW EXECUTE FUNCTION rights_change();
CREATE TRIGGER rights_role AFTER INSERT OR UPDATE OR DELETE ON role FOR EACH ROW EXECUTE FUNCTION rights_change();
CREATE TRIGGER rights_agent_tool AFTER INSERT OR UPDATE OR DELETE ON agent_tool FOR EACH ROW EXECUTE FUNCTION rights_change();
CREATE TRIGGER rights_tool_override AFTER INSERT OR UPDATE OR DELETE ON tool_override FOR EACH ROW EXECUTE FUNCTION rights_change();
