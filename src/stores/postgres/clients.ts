/**
 * The parts of the drivers' clients that the store uses.
 *
 * @module
 */

/** Parameter values that every driver treats alike. */
export type Parameter = string | number | boolean | null

/** The used part of a `Pool` of `pg`. */
export interface PgPool {
  /**
   * Distinguishes a pool from a single `Client`, which has no `totalCount`. A `Client` is not accepted, since hints
   * need their own connection.
   */
  readonly totalCount: number
  readonly options?: { readonly max?: number | undefined } | undefined
  /** Calls back as soon as it hands the client over: errors of a client that come before a listener is added end the process. */
  connect(callback: (error: Error | undefined, client: PgClient | undefined) => void): unknown
}

/** A statement with its parameters, as `pg` takes it. */
export interface PgQuery {
  name?: string | undefined
  text: string
  values: Parameter[]
  rowMode?: 'array'
  types?: { getTypeParser(): (value: unknown) => unknown }
}

/** A client checked out of a pool, to listen for notifications or for a transaction. */
export interface PgClient {
  query(query: string | PgQuery): Promise<{ readonly rows: unknown[]; readonly rowCount: number | null }>
  on(event: 'notification', listener: (message: PgNotification) => void): unknown
  on(event: 'error' | 'end', listener: () => void): unknown
  off(event: 'error' | 'end', listener: () => void): unknown
  release(destroy: boolean): void
  /** `'I'` outside of a transaction, `null` before the first answer. Older releases of pg do not have it. */
  getTransactionStatus?(): string | null
}

/** A notification of PostgreSQL. */
export interface PgNotification {
  readonly channel: string
  readonly payload?: string | undefined
}

/** The used part of every `sql` function of `postgres`. */
export interface PostgresJsStatements {
  unsafe(
    text: string,
    parameters: Parameter[],
    options: { prepare: boolean; onexecute?: (connection: object) => void },
  ): { values(): PromiseLike<readonly unknown[] & { readonly count: number | null }> }
}

/** The used part of the `sql` function of `postgres` for a reserved connection. */
export interface PostgresJsReserved extends PostgresJsStatements {
  release(): void
}

/** The numbers of the types that parameters of our statements have. Results are texts. */
export const [BOOLEAN, BIGINT, INTEGER, TEXT] = [16, 20, 23, 25] as const

/** What the application does to a value. */
export type Change = ((value: never, column?: never) => unknown) | undefined

/** The options of `postgres` that change what statements do and return. */
interface PostgresJsOptions {
  readonly max?: number | undefined
  readonly prepare?: boolean | undefined
  readonly parsers?: Readonly<Record<number, Change>> | undefined
  readonly serializers?: Readonly<Record<number, Change>> | undefined
  readonly transform?:
    { readonly value?: { readonly from?: Change }; readonly row?: { readonly from?: Change } } | undefined
}

/** The used part of the `sql` function of `postgres`. */
export interface PostgresJsSql extends PostgresJsStatements {
  readonly options?: PostgresJsOptions | undefined
  reserve(): Promise<PostgresJsReserved>
  listen(
    channel: string,
    onNotify: (payload: string) => void,
    onListen: () => void,
  ): PromiseLike<{ unlisten(): Promise<void> }>
}

/** The used part of a transaction of `@electric-sql/pglite`. */
export interface PgliteTransaction {
  query(
    text: string,
    parameters: Parameter[],
    options: {
      rowMode: 'array'
      parsers: Record<number, (text: string) => string>
      serializers: Record<number, (value: Parameter) => string>
    },
  ): Promise<{ rows: unknown[]; affectedRows?: number }>
}

/** The used part of a `PGlite` of `@electric-sql/pglite`. */
export interface PgliteDatabase extends PgliteTransaction {
  readonly waitReady: Promise<void>
  transaction(work: (transaction: PgliteTransaction) => Promise<void>): Promise<unknown>
  listen(channel: string, onNotify: (payload: string) => void): Promise<() => Promise<void>>
}

/** The clients of PostgreSQL that {@link postgresStore} accepts. */
export type PostgresClient = PgPool | PostgresJsSql | PgliteDatabase
