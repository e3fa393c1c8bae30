/** The database of PGlite for tests. It starts slowly, so that all files in a process share it, each in its schemas. */
import { PGlite } from '@electric-sql/pglite'

let started: Promise<PGlite> | undefined
let schemas = 0

/** The database. It stays open: other files in this process use it. */
export function sharedPglite(): Promise<PGlite> {
  return (started ??= PGlite.create())
}

/** The name of a schema that no other test has. */
export function newSchema(): string {
  return `schema_${(schemas += 1)}`
}
