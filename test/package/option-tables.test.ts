/** The tables of options in the guides: each lists every option that the code knows, and no other. */
import { describe, expect, test } from 'vitest'
import { verifyNotification } from '../../src/client/index.js'
import { DurableTaskManager } from '../../src/durable/index.js'
import { TaskManager } from '../../src/index.js'
import { createAgUiHandler } from '../../src/ag-ui/index.js'
import { createInspector } from '../../src/inspector/index.js'
import { createMcpHandler, mcpAgent, mcpTools } from '../../src/mcp/index.js'
import { createRequestHandler } from '../../src/server/index.js'
import { postgresStore } from '../../src/stores/postgres/index.js'
import { redisStore } from '../../src/stores/redis/index.js'
import { sqliteStore } from '../../src/stores/sqlite/index.js'
import { read } from '../support/repository.js'

interface OptionTable {
  readonly page: string
  readonly heading: string
  /** Each is called with an option that does not exist, and says in its error which do. */
  readonly takers: readonly Taker[]
  /** Calls with an unknown option below `limits`, where the table lists the limits one by one. */
  readonly limits?: Taker
  /** Listed options that none of the takers has. */
  readonly others?: readonly string[]
}

type Taker = (unknown: object) => unknown

/** Calls with options that their types do not allow. */
const call = (of: unknown, ...given: unknown[]): unknown => (of as (...args: unknown[]) => unknown)(...given)
const make = (of: unknown, ...given: unknown[]): unknown =>
  new (of as new (...args: unknown[]) => unknown)(...given)

const agent = { card: { name: 'Agent', url: 'https://agent.example' }, execute: () => 'done' }
const handlerOf: Taker = (options) => call(createRequestHandler, { ...agent, ...options })

const nothing = (): void => undefined
const anyRun = { step: nothing, update: nothing, requireInput: nothing, approve: nothing, sleep: nothing }

const TABLES: readonly OptionTable[] = [
  {
    page: 'docs/guides/agent-options.md',
    heading: 'Options',
    takers: [handlerOf],
    limits: (limits) => handlerOf({ limits }),
  },
  {
    page: 'docs/guides/task-manager.md',
    heading: 'Options',
    takers: [(options) => make(TaskManager, options)],
    limits: (limits) => make(TaskManager, { limits }),
  },
  {
    page: 'docs/guides/durable.md',
    heading: 'Options',
    takers: [(options) => make(DurableTaskManager, options)],
  },
  {
    page: 'docs/guides/stores.md',
    heading: 'Options',
    takers: [sqliteStore, postgresStore, redisStore].map((of) => (options) => call(of, {}, options)),
    others: ['synchronous'],
  },
  {
    page: 'docs/guides/webhooks.md',
    heading: 'Receive notifications',
    takers: [(options) => call(verifyNotification, new Request('https://hook.example'), options)],
  },
  {
    page: 'docs/guides/ag-ui.md',
    heading: 'Options',
    takers: [(options) => call(createAgUiHandler, () => new Response(), options)],
  },
  {
    page: 'docs/guides/mcp.md',
    heading: 'Options',
    takers: [(options) => call(createMcpHandler, () => new Response(), options)],
  },
  {
    page: 'docs/guides/mcp-tools.md',
    heading: 'Options',
    takers: [(options) => call(mcpAgent, {}, options), (options) => call(mcpTools, anyRun, {}, options)],
  },
  {
    page: 'docs/guides/inspector.md',
    heading: 'Options',
    takers: [(options) => call(createInspector, options)],
  },
  {
    page: 'docs/guides/webhooks.md',
    heading: 'Options',
    takers: [(push) => handlerOf({ push })],
  },
]

describe.each(TABLES)('the table of $page under $heading', ({ page, heading, ...options }) => {
  test('lists every option, and no other', async () => {
    const { takers, limits, others = [] } = options
    const known = (await Promise.all(takers.map(knownTo))).flat()
    const inner = limits === undefined ? [] : (await knownTo(limits)).map((name) => `limits.${name}`)
    const outer = inner.length > 0 ? known.filter((name) => name !== 'limits') : known
    const expected = new Set([...outer, ...inner, ...others])
    expect(optionsIn(read(page), heading).toSorted()).toEqual([...expected].toSorted())
  })
})

test('a table that lacks an option is found, and so is one with an option too many', () => {
  const page = '## Options\n\n| option | default |\n| --- | --- |\n| `a`, `b` | `1` |\n\n### More\n\n## End\n'
  expect(optionsIn(page, 'Options')).toEqual(['a', 'b'])
  expect(optionsIn(page, 'End')).toEqual([])
})

/** The options that the error for an unknown one lists. */
async function knownTo(taker: Taker): Promise<string[]> {
  try {
    await taker({ noSuchOption: true })
  } catch (error) {
    const [, names] = /known are (.+)$/.exec(String(error)) ?? []
    if (names !== undefined) return names.split(', ')
    throw error
  }
  throw new Error('An unknown option was accepted')
}

/** The names in the first column of a table. A name can occur in several rows, once for each function that takes it. */
function optionsIn(page: string, heading: string): string[] {
  const section = page.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? ''
  const [table = ''] = /(?:^\|.*\n)+/m.exec(section) ?? []
  const names = table.split('\n').flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)])
  return [...new Set(names.map(([, name = '']) => name))]
}
