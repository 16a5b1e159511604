/**
 * Each Postgres command (the tags of src/include/tcop/cmdtaglist.h), a statement with that tag, and its results: `ok` or the SQLSTATE.
 * The results are of `musette sql`, a reading login in a read-write transaction, the same limited to an account, an assistant, and an
 * assistant limited to an account; the last result stands for results that are left out.
 * If a login has no right to ANALYZE, VACUUM, GRANT or REVOKE, Postgres does nothing and answers `ok` with a warning. DROP OWNED and
 * REASSIGN OWNED are `ok` because the login owns nothing.
 */
const COMMANDS = `
ALTER AGGREGATE|alter aggregate pg_catalog.sum(int) rename to x|25006 42501 42501 25006
ALTER COLLATION|alter collation pg_catalog."C" rename to x|25006 42501 42501 25006
ALTER CONVERSION|alter conversion pg_catalog.ascii_to_mic rename to x|25006 42704 42704 25006
ALTER DATABASE|alter database DB set work_mem = '1MB'|25006 42501 42501 25006
ALTER DEFAULT PRIVILEGES|alter default privileges grant select on tables to public|25006 ok ok 25006
ALTER DOMAIN|alter domain information_schema.yes_or_no rename to x|25006 42501 42501 25006
ALTER EVENT TRIGGER|alter event trigger x disable|25006 42704 42704 25006
ALTER EXTENSION|alter extension plpgsql update|25006 42501 42501 25006
ALTER FOREIGN DATA WRAPPER|alter foreign data wrapper x options (a 'b')|25006 42501 42501 25006
ALTER FOREIGN TABLE|alter foreign table training.accounts rename to x|25006 42501 42501 25006
ALTER FUNCTION|alter function pg_catalog.now() rename to x|25006 42501 42501 25006
ALTER INDEX|alter index training.changes_at rename to x|25006 42501 42501 25006
ALTER LANGUAGE|alter language plpgsql rename to x|25006 42501 42501 25006
ALTER LARGE OBJECT|alter large object 1 owner to current_user|25006 42704 42704 25006
ALTER MATERIALIZED VIEW|alter materialized view training.today rename to x|25006 42501 42501 25006
ALTER OPERATOR|alter operator pg_catalog.+ (int, int) owner to current_user|25006 42501 42501 25006
ALTER OPERATOR CLASS|alter operator class pg_catalog.int4_ops using btree rename to x|25006 42501 42501 25006
ALTER OPERATOR FAMILY|alter operator family pg_catalog.integer_ops using btree rename to x|25006 42501 42501 25006
ALTER POLICY|alter policy everyone on training.accounts using (true)|25006 42501 42501 25006
ALTER PROCEDURE|alter procedure x() rename to y|25006 42883 42883 25006
ALTER PUBLICATION|alter publication x add table training.accounts|25006 42704 42704 25006
ALTER ROLE|alter role current_user set work_mem = '1MB'|25006 ok ok 25006
ALTER ROUTINE|alter routine pg_catalog.now() rename to x|25006 42501 42501 25006
ALTER RULE|alter rule "_RETURN" on training.today rename to x|25006 42501 42501 25006
ALTER SCHEMA|alter schema training rename to x|25006 42501 42501 25006
ALTER SEQUENCE|alter sequence training.changes_change_id_seq restart|25006 42501 42501 25006
ALTER SERVER|alter server x options (a 'b')|25006 42704 42704 25006
ALTER STATISTICS|alter statistics x set statistics 1|25006 42704 42704 25006
ALTER SUBSCRIPTION|alter subscription x disable|25006 42704 42704 25006
ALTER SYSTEM|alter system set work_mem = '1MB'|25001 42501 42501 25001
ALTER TABLE|alter table training.accounts add x int|25006 42501 42501 25006
ALTER TABLESPACE|alter tablespace pg_default rename to x|25006 42501 42501 25006
ALTER TEXT SEARCH CONFIGURATION|alter text search configuration pg_catalog.simple rename to x|25006 42501 42501 25006
ALTER TEXT SEARCH DICTIONARY|alter text search dictionary pg_catalog.simple rename to x|25006 42501 42501 25006
ALTER TEXT SEARCH PARSER|alter text search parser pg_catalog."default" rename to x|25006 42501 42501 25006
ALTER TEXT SEARCH TEMPLATE|alter text search template pg_catalog.simple rename to x|25006 42501 42501 25006
ALTER TRIGGER|alter trigger record_change on training.accounts rename to x|25006 42501 42501 25006
ALTER TYPE|alter type information_schema.yes_or_no rename to x|25006 42501 42501 25006
ALTER USER MAPPING|alter user mapping for current_user server x options (a 'b')|25006 42704 42704 25006
ALTER VIEW|alter view training.today rename to x|25006 42501 42501 25006
ANALYZE|analyze training.accounts|ok
BEGIN|begin|ok
CALL|call x()|42883
CHECKPOINT|checkpoint|42501
CLOSE|close x|34000
CLOSE CURSOR|close x|34000
CLOSE CURSOR ALL|close all|ok
CLUSTER|cluster training.accounts using accounts_pkey|42501
COMMENT|comment on table training.accounts is 'x'|25006 42501 42501 25006
COMMIT|commit|ok
COMMIT PREPARED|commit prepared 'x'|25001 42704 42704 25001
COPY|copy training.accounts to stdout|ok ok ok sql_rejected
COPY FROM|copy training.accounts from '/dev/null'|42501
CREATE ACCESS METHOD|create access method x type index handler bthandler|25006 42501 42501 25006
CREATE AGGREGATE|create aggregate training.x (int) (sfunc = int4pl, stype = int)|25006 42501 42501 25006
CREATE CAST|create cast (int as xid8) without function|25006 42501 42501 25006
CREATE COLLATION|create collation training.x from "C"|25006 42501 42501 25006
CREATE CONVERSION|create conversion training.x for 'LATIN1' to 'UTF8' from iso8859_1_to_utf8|25006 42501 42501 25006
CREATE DATABASE|create database x|25006 42501 42501 25006
CREATE DOMAIN|create domain training.x as int|25006 42501 42501 25006
CREATE EVENT TRIGGER|create event trigger x on ddl_command_start execute function f()|25006 42501 42501 25006
CREATE EXTENSION|create extension plperlu|25006 42501 42501 25006
CREATE FOREIGN DATA WRAPPER|create foreign data wrapper x|25006 42501 42501 25006
CREATE FOREIGN TABLE|create foreign table training.x (a int) server x|25006 42501 42501 25006
CREATE FUNCTION|create function training.x() returns int language sql as 'select 1'|25006 42501 42501 25006
CREATE INDEX|create index on training.accounts (name)|25006 42501 42501 25006
CREATE LANGUAGE|create language plperlu|25006 42501 42501 25006
CREATE MATERIALIZED VIEW|create materialized view training.x as select 1|25006 42501 42501 25006
CREATE OPERATOR|create operator training.=== (function = int4eq, leftarg = int, rightarg = int)|25006 42501 42501 25006
CREATE OPERATOR CLASS|create operator class training.x for type int using btree as storage int|25006 42501 42501 25006
CREATE OPERATOR FAMILY|create operator family training.x using btree|25006 42501 42501 25006
CREATE POLICY|create policy x on training.accounts using (true)|25006 42501 42501 25006
CREATE PROCEDURE|create procedure training.x() language sql as 'select 1'|25006 42501 42501 25006
CREATE PUBLICATION|create publication x for table training.accounts|25006 42501 42501 25006
CREATE ROLE|create role musette_command_x|25006 42501 42501 25006
CREATE RULE|create rule x as on insert to training.accounts do nothing|25006 42501 42501 25006
CREATE SCHEMA|create schema x|25006 42501 42501 25006
CREATE SEQUENCE|create sequence training.x|25006 42501 42501 25006
CREATE SERVER|create server x foreign data wrapper y|25006 42704 42704 25006
CREATE STATISTICS|create statistics training.x on name, base_url from training.accounts|25006 42501 42501 25006
CREATE SUBSCRIPTION|create subscription x connection 'dbname=x' publication y with (connect = false)|25006 42501 42501 25006
CREATE TABLE|create temporary table x (a int)|25006 42501 42501 25006
CREATE TABLE AS|create temporary table x as select 1|25006 42501 42501 25006
CREATE TABLESPACE|create tablespace x location '/nowhere'|25006 42501 42501 25006
CREATE TEXT SEARCH CONFIGURATION|create text search configuration training.x (copy = pg_catalog.simple)|25006 42501 42501 25006
CREATE TEXT SEARCH DICTIONARY|create text search dictionary training.x (template = simple)|25006 42501 42501 25006
CREATE TEXT SEARCH PARSER|create text search parser training.x (start = prsd_start, gettoken = prsd_nexttoken, end = prsd_end, lextypes = prsd_lextype)|25006 42501 42501 25006
CREATE TEXT SEARCH TEMPLATE|create text search template training.x (lexize = dsimple_lexize)|25006 42501 42501 25006
CREATE TRANSFORM|create transform for int language plpgsql (from sql with function x(internal))|25006 42501 42501 25006
CREATE TRIGGER|create trigger x before insert on training.accounts for each row execute function musette.set_updated_at()|25006 42501 42501 25006
CREATE TYPE|create type training.x as enum ()|25006 42501 42501 25006
CREATE USER MAPPING|create user mapping for current_user server x|25006 42704 42704 25006
CREATE VIEW|create view training.x as select 1|25006 42501 42501 25006
DEALLOCATE|deallocate x|26000
DEALLOCATE ALL|deallocate all|ok
DECLARE CURSOR|declare x cursor for select 1|ok
DELETE|delete from training.accounts|25006 42501 42501 25006
DISCARD|discard plans|ok
DISCARD ALL|discard all|25001 ok ok 25001
DISCARD PLANS|discard plans|ok
DISCARD SEQUENCES|discard sequences|ok
DISCARD TEMP|discard temp|ok
DO|do $$ begin end $$|42501
DROP ACCESS METHOD|drop access method btree|25006 42501 42501 25006
DROP AGGREGATE|drop aggregate pg_catalog.sum(int)|25006 42501 42501 25006
DROP CAST|drop cast (int as bigint)|25006 42501 42501 25006
DROP COLLATION|drop collation pg_catalog."C"|25006 42501 42501 25006
DROP CONVERSION|drop conversion pg_catalog.ascii_to_mic|25006 42704 42704 25006
DROP DATABASE|drop database template1|25006 42501 42501 25006
DROP DOMAIN|drop domain information_schema.yes_or_no|25006 42501 42501 25006
DROP EVENT TRIGGER|drop event trigger x|25006 42704 42704 25006
DROP EXTENSION|drop extension plpgsql|25006 42501 42501 25006
DROP FOREIGN DATA WRAPPER|drop foreign data wrapper x|25006 42704 42704 25006
DROP FOREIGN TABLE|drop foreign table training.x|25006 42704 42704 25006
DROP FUNCTION|drop function musette.differences(jsonb, jsonb)|25006 42501 42501 25006
DROP INDEX|drop index training.changes_at|25006 42501 42501 25006
DROP LANGUAGE|drop language plpgsql|25006 42501 42501 25006
DROP MATERIALIZED VIEW|drop materialized view training.x|25006 42P01 42P01 25006
DROP OPERATOR|drop operator pg_catalog.+ (int, int)|25006 42501 42501 25006
DROP OPERATOR CLASS|drop operator class pg_catalog.int4_ops using btree|25006 42501 42501 25006
DROP OPERATOR FAMILY|drop operator family pg_catalog.integer_ops using btree|25006 42501 42501 25006
DROP OWNED|drop owned by current_user|25006 ok ok 25006
DROP POLICY|drop policy everyone on training.accounts|25006 42501 42501 25006
DROP PROCEDURE|drop procedure x()|25006 42883 42883 25006
DROP PUBLICATION|drop publication x|25006 42704 42704 25006
DROP ROLE|drop role musette_reader|25006 42501 42501 25006
DROP ROUTINE|drop routine musette.differences(jsonb, jsonb)|25006 42501 42501 25006
DROP RULE|drop rule "_RETURN" on training.today|25006 42501 42501 25006
DROP SCHEMA|drop schema training cascade|25006 42501 42501 25006
DROP SEQUENCE|drop sequence training.changes_change_id_seq|25006 42501 42501 25006
DROP SERVER|drop server x|25006 42704 42704 25006
DROP STATISTICS|drop statistics x|25006 42704 42704 25006
DROP SUBSCRIPTION|drop subscription x|25006 42704 42704 25006
DROP TABLE|drop table training.samples|25006 42501 42501 25006
DROP TABLESPACE|drop tablespace pg_default|25006 42501 42501 25006
DROP TEXT SEARCH CONFIGURATION|drop text search configuration pg_catalog.simple|25006 42501 42501 25006
DROP TEXT SEARCH DICTIONARY|drop text search dictionary pg_catalog.simple|25006 42501 42501 25006
DROP TEXT SEARCH PARSER|drop text search parser pg_catalog."default"|25006 42501 42501 25006
DROP TEXT SEARCH TEMPLATE|drop text search template pg_catalog.simple|25006 42501 42501 25006
DROP TRANSFORM|drop transform for int language plpgsql|25006 42704 42704 25006
DROP TRIGGER|drop trigger record_change on training.accounts|25006 42501 42501 25006
DROP TYPE|drop type information_schema.yes_or_no|25006 42501 42501 25006
DROP USER MAPPING|drop user mapping for current_user server x|25006 42704 42704 25006
DROP VIEW|drop view training.today|25006 42501 42501 25006
EXECUTE|execute x|26000
EXPLAIN|explain select * from training.accounts|ok ok ok ok sql_rejected
FETCH|fetch x|34000
GRANT|grant select on training.accounts to public|25006 ok ok 25006
GRANT ROLE|grant musette_reader to current_user|25006 42501 42501 25006
IMPORT FOREIGN SCHEMA|import foreign schema x from server y into training|25006 42704 42704 25006
INSERT|insert into training.accounts (name, base_url) values ('x', 'x')|25006 42501 42501 25006
LISTEN|listen x|ok
LOAD|load 'plperlu'|42501
LOCK TABLE|lock table training.accounts in row share mode|42501
MERGE|merge into training.accounts using (select 1) x on true when matched then delete|25006 42501 42501 25006
MOVE|move x|34000
NOTIFY|notify x|ok
PREPARE|prepare x as select 1|ok
PREPARE TRANSACTION|prepare transaction 'x'|55000
REASSIGN OWNED|reassign owned by current_user to current_user|25006 ok ok 25006
REFRESH MATERIALIZED VIEW|refresh materialized view training.today|25006 42809 42809 25006
REINDEX|reindex table training.accounts|42501
RELEASE|release x|3B001
RESET|reset work_mem|ok
REVOKE|revoke select on training.accounts from public|25006 ok ok 25006
REVOKE ROLE|revoke musette_reader from current_user|25006 42501 42501 25006
ROLLBACK|rollback|ok
ROLLBACK PREPARED|rollback prepared 'x'|25001 42704 42704 25001
SAVEPOINT|savepoint x|ok
SECURITY LABEL|security label on table training.accounts is 'x'|25006 22023 22023 25006
SELECT|select 1|ok
SELECT FOR KEY SHARE|select from training.accounts for key share|25006 42501 42501 25006
SELECT FOR NO KEY UPDATE|select from training.accounts for no key update|25006 42501 42501 25006
SELECT FOR SHARE|select from training.accounts for share|25006 42501 42501 25006
SELECT FOR UPDATE|select from training.accounts for update|25006 42501 42501 25006
SELECT INTO|select 1 as a into temporary x|25006 42501 42501 25006
SET|set work_mem = '1MB'|ok
SET CONSTRAINTS|set constraints all immediate|ok
SHOW|show work_mem|ok
START TRANSACTION|start transaction|ok
TRUNCATE TABLE|truncate training.accounts cascade|25006 42501 42501 25006
UNLISTEN|unlisten *|ok
UPDATE|update training.accounts set name = name|25006 42501 42501 25006
VACUUM|vacuum training.accounts|25001 ok ok 25001
`

/** Tags without a statement. */
export const WITHOUT_STATEMENT = [
  'ALTER ACCESS METHOD',
  'ALTER CAST',
  'ALTER CONSTRAINT',
  'ALTER TRANSFORM',
  'CREATE CONSTRAINT',
  'CREATE ROUTINE',
  'DROP CONSTRAINT',
  'LOGIN',
]

/** Reads the table; `got` has the result of the statement for each of the five logins. */
export function readCommands() {
  const lines = COMMANDS.trim().split('\n')
  return lines.map((line) => {
    const [tag = '', statement = '', results = ''] = line.split('|')
    const got = results.split(' ')
    return { tag, statement, got: [0, 1, 2, 3, 4].map((place) => got[Math.min(place, got.length - 1)]) }
  })
}
