/**
 * SQL statements that list and count tasks, with only the requested conditions.
 *
 * @module
 */
import type { StoreFilter, StoreQuery } from '../../durable/task-store.js'
import type { Parameter } from './clients.js'
import { ANY_SECOND } from './schema.js'
import { tail } from './task-statements.js'
import { toColumn, toOwner } from './text.js'

export interface Statement {
  readonly text: string
  readonly parameters: readonly Parameter[]
}

export function countStatement(s: string, filter: StoreFilter): Statement {
  const where = new Conditions(filter)
  return { text: `SELECT count(*)::text FROM ${s}.tasks WHERE ${where.text}`, parameters: where.parameters }
}

export function listStatement(s: string, { after, limit, ...filter }: StoreQuery): Statement {
  const where = new Conditions(filter)
  if (after !== undefined) {
    const at = where.parameter(after.updatedAt)
    const id = where.parameter(toColumn(after.id))
    where.add(`${where.second} <= left(${at}, 19)`)
    where.add(`(updated_at < ${at} OR (updated_at = ${at} AND id < ${id}))`)
  }
  const text = `SELECT c.checkpoint, ${tail(s)}
    FROM (
      SELECT task, id, updated_at FROM ${s}.tasks WHERE ${where.text}
      ORDER BY ${where.second} DESC, updated_at DESC, id DESC LIMIT ${where.parameter(limit)}::int
    ) page JOIN ${s}.contents c ON c.task = page.task ORDER BY page.updated_at DESC, page.id DESC`
  return { text, parameters: where.parameters }
}

class Conditions {
  readonly parameters: Parameter[] = []
  /** The expression to compare with a time in whole seconds. */
  readonly second: string
  readonly #conditions = ['true']

  constructor({ state, skill, contextId, owner, updatedSince }: StoreFilter) {
    if (state !== undefined) this.#equals('state', toColumn(state))
    if (skill !== undefined) this.#equals('skill', toColumn(skill))
    if (contextId !== undefined) this.#equals('context_id', toColumn(contextId))
    if (owner !== undefined) this.#equals('owner', toOwner(owner))
    this.second = this.parameters.length > 0 ? 'updated_second' : ANY_SECOND
    if (updatedSince !== undefined) {
      const since = this.parameter(updatedSince)
      this.add(`${this.second} >= left(${since}, 19) AND updated_at >= ${since}`)
    }
  }

  get text(): string {
    return this.#conditions.join(' AND ')
  }

  add(condition: string): void {
    this.#conditions.push(condition)
  }

  parameter(value: Parameter): string {
    return `$${this.parameters.push(value)}`
  }

  #equals(column: string, value: string): void {
    this.add(`${column} = ${this.parameter(value)}`)
  }
}
