/**
 * Tables and their migrations.
 *
 * @module
 */
import { PARKED } from '../../durable/leases/lease-note.js'
import { REFUSED, STALE } from './errors.js'
import { feedFunctions } from './feed.js'

/**
 * Migration steps from each version of the tables to the next. The first creates version 1. Steps are only ever
 * appended. Processes of the previous release may still run when a step is applied, so the new tables must either serve
 * their statements or make them fail.
 */
export type Steps = readonly ((schema: string) => string)[]

/**
 * `updated_second`, for queries that filter by no other property. The planner treats the expression as a different
 * column, so it does not scan tasks of all kinds by time when a filter has its own index.
 */
export const ANY_SECOND = `(updated_second || '')`

export const STEPS: Steps = [
  // Each change rewrites a row of `tasks`. The row is narrow, its page has spare room, and no index covers a column
  // that most changes modify, so such a change touches one page and no index (a "HOT" update). For this reason lists
  // are ordered by the second of `updated_at`, and only within a second by the time itself. With more than a tenth of
  // spare room PostgreSQL would look for dead rows at each change. Names and times compare by their bytes.
  (schema) => `
    CREATE TABLE ${schema}.tasks (
      task bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      id text COLLATE "C" NOT NULL UNIQUE,
      created_at text COLLATE "C" NOT NULL,
      generation integer NOT NULL,
      state text COLLATE "C" NOT NULL,
      ended boolean NOT NULL,
      updated_at text COLLATE "C" NOT NULL,
      updated_second text COLLATE "C" NOT NULL,
      skill text COLLATE "C" NOT NULL,
      context_id text COLLATE "C" NOT NULL,
      owner text COLLATE "C" NOT NULL,
      lease_id text COLLATE "C",
      lease_until bigint
    ) WITH (fillfactor = 90);
    CREATE INDEX tasks_by_time ON ${schema}.tasks (${ANY_SECOND});
    CREATE INDEX tasks_by_state ON ${schema}.tasks (state, updated_second);
    CREATE INDEX tasks_by_skill ON ${schema}.tasks (skill, updated_second);
    CREATE INDEX tasks_by_context ON ${schema}.tasks (context_id, updated_second);
    CREATE INDEX tasks_by_owner ON ${schema}.tasks (owner, updated_second);
    CREATE INDEX tasks_unended ON ${schema}.tasks (created_at) WHERE NOT ended;
    CREATE INDEX tasks_leased ON ${schema}.tasks (task) WHERE lease_id IS NOT NULL;
    CREATE TABLE ${schema}.contents (
      task bigint PRIMARY KEY,
      generation integer NOT NULL,
      checkpoint text NOT NULL,
      creation_id text COLLATE "C" NOT NULL,
      lease_note text
    );
    CREATE TABLE ${schema}.events (
      task bigint NOT NULL,
      generation integer NOT NULL,
      commit_id text COLLATE "C",
      json text NOT NULL,
      PRIMARY KEY (task, generation)
    );
    CREATE TABLE ${schema}.documents (
      task bigint NOT NULL,
      task_id text COLLATE "C" NOT NULL,
      created_at text COLLATE "C" NOT NULL,
      kind text COLLATE "C" NOT NULL,
      id text COLLATE "C" NOT NULL,
      version integer NOT NULL,
      json text NOT NULL,
      PRIMARY KEY (task, kind, id)
    );
    CREATE INDEX documents_by_kind ON ${schema}.documents (kind, task_id);
    ${deletionTrigger(schema)}`,
  // Leases that no process holds are many, last long, and are not renewed. Their end is in its own column, since an
  // index on `lease_until` would keep renewals from being HOT updates. Where a process of the release before has changed
  // the lease of a task, the column may be too early or absent, and the task is found anyway.
  (schema) => `
    ALTER TABLE ${schema}.tasks ADD COLUMN parked_until bigint;
    UPDATE ${schema}.tasks SET parked_until = lease_until WHERE lease_id = '${PARKED}';
    CREATE INDEX tasks_parked ON ${schema}.tasks (parked_until) WHERE parked_until IS NOT NULL;
    CREATE INDEX tasks_held ON ${schema}.tasks (task) WHERE lease_id IS NOT NULL AND parked_until IS NULL;
    DROP INDEX ${schema}.tasks_leased;`,
  // Empty until a feed is wanted.
  (schema) => `
    CREATE TABLE ${schema}.feed (
      xid bigint NOT NULL DEFAULT txid_current(),
      task bigint NOT NULL,
      generation integer NOT NULL,
      removed text,
      PRIMARY KEY (xid, task, generation)
    );
    ${feedFunctions(schema)}`,
]

/**
 * A trigger that deletes the contents, events and documents of a deleted task. One statement that deletes from all
 * tables would miss what was committed while it waited for the row of the task. The trigger sees those rows.
 */
function deletionTrigger(schema: string): string {
  return `
    CREATE FUNCTION ${schema}.forget_task() RETURNS trigger LANGUAGE plpgsql AS $forget$
    BEGIN
      DELETE FROM ${schema}.contents WHERE task = OLD.task;
      DELETE FROM ${schema}.events WHERE task = OLD.task;
      DELETE FROM ${schema}.documents WHERE task = OLD.task;
      RETURN NULL;
    END $forget$;
    CREATE TRIGGER forget_task AFTER DELETE ON ${schema}.tasks
      FOR EACH ROW EXECUTE FUNCTION ${schema}.forget_task();`
}

/**
 * One statement that applies the missing steps, all or none. Concurrent migrations wait, and then find the work done.
 * `afterwards` are statements that follow the steps.
 * `schema` is quoted. Fails with {@link REFUSED} when the tables have a later version than these steps, and with
 * {@link STALE} when the isolation level hides what another migration committed during the wait. The caller then starts
 * over.
 */
export function migration(schema: string, steps: Steps = STEPS, afterwards = ''): string {
  const name = schema.replaceAll('"', '')
  const refuse = (text: string, values: string): string =>
    `RAISE EXCEPTION '${text}', ${values} USING ERRCODE = '${REFUSED}';`
  return `DO $migration$
  DECLARE present integer;
  BEGIN
    IF current_setting('server_encoding') <> 'UTF8' THEN
      ${refuse('"a2a-tasks" needs a database that is encoded as UTF8, and this one is %', `current_setting('server_encoding')`)}
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('a2a-tasks'), hashtext('${name}'));
    IF to_regnamespace('${schema}') IS NULL THEN
      CREATE SCHEMA ${schema};
    END IF;
    IF to_regclass('${schema}.a2a_tasks_version') IS NULL THEN
      CREATE TABLE ${schema}.a2a_tasks_version (version integer NOT NULL);
      INSERT INTO ${schema}.a2a_tasks_version VALUES (0);
    END IF;
    SELECT version INTO present FROM ${schema}.a2a_tasks_version;
    IF present IS NULL THEN
      RAISE EXCEPTION 'The tables of "a2a-tasks" (schema ${name}) have no version' USING ERRCODE = '${STALE}';
    END IF;
    IF present > ${steps.length} THEN
      ${refuse(`The tables of "a2a-tasks" (schema ${name}) have version %, and this release knows them up to ${steps.length}: they were migrated by a later one`, 'present')}
    END IF;
    ${steps.map((step, version) => `IF present <= ${version} THEN ${step(schema)} END IF;`).join('\n')}
    IF present < ${steps.length} THEN
      UPDATE ${schema}.a2a_tasks_version SET version = ${steps.length};
    END IF;
    ${afterwards}
  END $migration$`
}
