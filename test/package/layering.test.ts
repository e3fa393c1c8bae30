/** The arrows of `src/`: the folders and packages that each folder may import. */
import { dirname, join } from 'node:path/posix'
import { describe, expect, it } from 'vitest'
import { INDEXES, read, SOURCES } from '../support/repository.js'
import { importsOf, type Import } from '../support/source.js'

/** `public`: the files whose exports users can import. A file instead of a folder: that file only. */
interface Arrows {
  readonly values?: readonly string[]
  readonly types?: readonly string[]
}

const ARROWS: Record<string, Arrows> = {
  'index.ts': { values: ['core', 'runtime', 'views'] },
  runtime: {},
  schemas: { values: ['runtime'] },
  core: { values: ['runtime'] },
  views: { values: ['core', 'runtime'] },
  http: { values: ['runtime', 'core/errors.ts'] },
  wire: { values: ['runtime', 'schemas', 'core/errors.ts'], types: ['core'] },
  'agent-card': { values: ['runtime', 'schemas', 'wire', 'core/errors.ts'] },
  remote: { values: ['runtime', 'core'] },
  client: { values: ['runtime', 'http', 'schemas', 'wire', 'agent-card', 'core', 'remote'] },
  durable: { values: ['runtime', 'core'] },
  'stores/*': { values: ['runtime', 'core', 'durable'] },
  server: { values: ['runtime', 'http', 'core', 'views', 'schemas', 'wire', 'agent-card', 'remote'] },
  compat: { values: ['runtime', 'core', 'schemas', 'wire', 'server'], types: ['agent-card'] },
  gateway: {
    values: ['runtime', 'http', 'core', 'schemas', 'wire', 'agent-card', 'remote', 'client'],
    types: ['server'],
  },
  telemetry: { values: ['runtime', 'core/spending.ts'], types: ['public'] },
  migrate: { values: ['runtime', 'core/errors.ts', 'core/lifecycle.ts', 'wire'], types: ['core', 'server'] },
  testing: { values: ['runtime', 'public'] },
  ai: { values: ['runtime', 'public'] },
  chat: { values: ['runtime', 'public'] },
  'ag-ui': { values: ['runtime', 'core', 'schemas', 'wire', 'chat', 'server'], types: ['client'] },
  mcp: { values: ['runtime', 'http', 'core', 'schemas', 'wire', 'agent-card', 'client', 'server'] },
  inspector: { values: ['runtime', 'public'] },
  // It imports the entries by their names, as users do, and the checks, which import nothing.
  'command-line': { values: ['conformance'] },
  conformance: {},
}

/** The rooms of `server/` that work on tasks: those that each may import. */
const ROOMS: Record<string, readonly string[]> = {
  'server/journal': [],
  'server/run': ['server/journal'],
  'server/schedule': ['server/run', 'server/journal'],
}

const PACKAGES: Record<string, readonly string[]> = {
  eventemitter3: ['core/emitter.ts'],
  uuid: ['runtime/ids.ts'],
  zod: ['schemas', 'wire/check-zod.ts'],
  jose: ['agent-card/sign.ts'],
  'eventsource-parser': ['http/sse-reader.ts'],
  'ipaddr.js': ['http/url-guard.ts'],
  '@opentelemetry/api': ['telemetry'],
  '@azure/identity': ['gateway/providers/azure/credentials.ts'],
  '@aws-sdk/client-bedrock-agent-runtime': ['gateway/providers/aws/bedrock-client.ts'],
  '@aws-sdk/client-bedrock-agentcore': ['gateway/providers/aws/agentcore-client.ts'],
  'google-auth-library': ['gateway/providers/vertex/credentials.ts'],
  yaml: ['gateway/config/config.ts'],
  preact: ['inspector'],
  htm: ['inspector'],
}

/** The program. No other folder may import it, and it imports the package by its names. */
const PROGRAM = 'command-line'
/** Of these, too, nothing runs elsewhere. */
const FOR_NODE = [PROGRAM, 'conformance']

const MAX_CHAIN = 28

type Graph = ReadonlyMap<string, readonly string[]>

const IMPORTS: Graph = new Map(
  SOURCES.map((file) => [
    file,
    importsOf(read(`src/${file}`))
      .filter(({ specifier }) => specifier.startsWith('.'))
      .map(({ specifier }) => resolve(file, specifier)),
  ]),
)

const PUBLIC = new Set(
  INDEXES.flatMap((index) => [
    index,
    ...importsOf(read(`src/${index}`)).map(({ specifier }) => resolve(index, specifier)),
  ]),
)

describe('the imports of src/', () => {
  it('keep to the arrows', () => {
    const faults = SOURCES.flatMap((file) =>
      importsOf(read(`src/${file}`)).flatMap((imported) => {
        const fault = faultOf(file, imported)
        return fault === undefined ? [] : [`${file}: ${fault}`]
      }),
    )
    expect(faults).toEqual([])
  })

  it('have no cycle, imports of types included', () => {
    expect(cycleOf(IMPORTS)).toEqual([])
    expect(cycleOf(new Map(Object.entries({ a: ['b'], b: ['c'], c: ['b'] })))).toEqual(['b', 'c', 'b'])
  })

  it(`have no chain of more than ${MAX_CHAIN} files`, () => {
    const chain = longestChain(IMPORTS)
    expect(chain.slice(MAX_CHAIN), chain.join(' → ')).toEqual([])
    expect(longestChain(new Map(Object.entries({ a: ['c'], b: ['a', 'c'], c: [] })))).toEqual(['b', 'a', 'c'])
  })
})

describe('the arrows refuse', () => {
  it.each([
    ['core/task.ts', `import type { z } from 'zod'`, 'core imports zod'],
    ['core/task.ts', `import * as z from 'zod/mini'`, 'core imports zod/mini'],
    ['core/task.ts', `import { v4 } from 'uuid'`, 'core imports uuid'],
    ['server/span.ts', `import { trace } from '@opentelemetry/api/x'`, 'server imports @opentelemetry/api/x'],
    ['core/json.ts', `import 'node:buffer'`, 'core is runtime-neutral, and imports node:buffer'],
    ['core/decide.ts', `import { part } from '../schemas/part.js'`, 'core imports schemas'],
    ['core/decide.ts', `import { type Part } from '../schemas/part.js'`, 'core imports schemas'],
    ['core/decide.ts', `import type { Store } from '../durable/task-store.js'`, 'core imports durable'],
    ['core/decide.ts', `import type { Claims } from '../views/claims.js'`, 'core imports views'],
    ['views/fork.ts', `import { x } from '../durable/forks.js'`, 'views imports durable'],
    ['core/decide.ts', `export { TaskManager } from '../index.js'`, 'index.ts is for users'],
    ['runtime/clock.ts', `import { A2AError } from '../core/errors.js'`, 'runtime imports core'],
    ['http/request.ts', `import { evolve } from '../core/evolve.js'`, 'http imports core'],
    ['testing/clock.ts', `import { x } from './index.js'`, 'testing/index.ts is for users'],
    ['client/run/run.ts', `import { x } from '../../wire/index.js'`, 'wire/index.ts is for users'],
    ['testing/clock.ts', `import { x } from '../core/task-table.js'`, 'testing imports core'],
    ['wire/v1/objects.ts', `import { x } from '../../core/evolve.js'`, 'wire imports a value of core'],
    [
      'server/push/push.ts',
      `const { open } = await import('../../durable/task-store.js')`,
      'server imports durable',
    ],
    ['server/push/push.ts', `import { run } from '../../client/run/run.js'`, 'server imports client'],
    ['remote/follower.ts', `import type { Run } from '../client/run/run.js'`, 'remote imports client'],
    ['server/dialects.ts', `import { kaos } from '../compat/kaos/dialect.js'`, 'server imports compat'],
    ['wire/v1/dialect.ts', `import { x } from '../../compat/conversation.js'`, 'wire imports compat'],
    [
      'server/journal/writes/turn-ids.ts',
      `import type { RunContext } from '../../run/run-context.js'`,
      'server/journal imports server/run',
    ],
    [
      'server/journal/journal.ts',
      `import { x } from '../schedule/deadlines.js'`,
      'server/journal imports server/schedule',
    ],
    [
      'server/run/turn.ts',
      `import type { ActiveRun } from '../schedule/active-run.js'`,
      'server/run imports server/schedule',
    ],
    ['stores/redis/store.ts', `import { Redis } from 'ioredis'`, 'stores/redis imports ioredis'],
    [
      'stores/redis/store.ts',
      `import { row } from '../sqlite/rows.js'`,
      'stores/redis imports stores/sqlite',
    ],
    ['agent-card/build.ts', `import * as jose from 'jose'`, 'agent-card imports jose'],
    [
      'client/run/run.ts',
      `import { run } from '../../command-line/program.js'`,
      'client imports command-line',
    ],
    ['command-line/follow.ts', `import { Run } from '../client/run/run.js'`, 'command-line imports client'],
    ['core/decide.ts', `import { TaskManager } from 'a2a-tasks'`, 'core imports a2a-tasks'],
    ['plugins/index.ts', `import type { Task } from '../core/task.js'`, 'plugins has no arrows'],
  ])('in %s: %s', (file, code, fault) => {
    expect(importsOf(code).map((imported) => faultOf(file, imported))).toEqual([fault])
  })
})

describe('the arrows allow', () => {
  it.each([
    ['core/decide.ts', `import { evolve } from './evolve.js'`],
    ['runtime/ids.ts', `import { v4 } from 'uuid'`],
    ['schemas/part.ts', `import * as z from 'zod/mini'`],
    ['telemetry/span.ts', `import { trace } from '@opentelemetry/api/x'`],
    ['client/client.ts', `import { A2AError } from '../core/errors.js'`],
    ['server/node/index.ts', `import type { Server } from 'node:http'`],
    ['server/push/push.ts', `import { urlGuard } from '../../http/url-guard.js'`],
    ['server/schedule/deadlines.ts', `import { scheduleAt } from '../journal/waits.js'`],
    ['server/run/turn.ts', `import type { Values } from '../journal/values.js'`],
    ['server/journal/steps.ts', `import { toRetrySettings } from '../retry.js'`],
    ['gateway/request-handler.ts', `import type { Run } from '../server/run/run.js'`],
    ['stores/redis/index.ts', `import { RedisStore } from './redis-store.js'`],
    ['testing/clock.ts', `import { TaskManager } from '../core/task-manager.js'`],
    ['command-line/follow.ts', `import { A2AClient } from 'a2a-tasks/client'`],
    ['command-line/dev/server.ts', `import { createServer } from 'node:http'`],
  ])('in %s: %s', (file, code) => {
    expect(importsOf(code).map((imported) => faultOf(file, imported))).toEqual([undefined])
  })
})

function faultOf(file: string, { specifier, typeOnly }: Import): string | undefined {
  const from = folderOf(file)
  if (specifier.startsWith('node:')) {
    return file.includes('/node/') || FOR_NODE.includes(from)
      ? undefined
      : `${from} is runtime-neutral, and imports ${specifier}`
  }
  if (from === PROGRAM && packageOf(specifier) === 'a2a-tasks') return undefined
  if (!specifier.startsWith('.')) {
    const users = PACKAGES[packageOf(specifier)] ?? []
    return users.includes(from) || users.includes(file) ? undefined : `${from} imports ${specifier}`
  }
  const target = resolve(file, specifier)
  const to = folderOf(target)
  if (INDEXES.includes(target) || target === 'index.ts') return `${target} is for users`
  if (to === from) return roomFaultOf(file, target)
  const arrows = ARROWS[from.replace(/^stores\/.*/, 'stores/*')]
  if (arrows === undefined) return `${from} has no arrows`
  const reaches = (ends: readonly string[] = []): boolean =>
    ends.includes(to) || ends.includes(target) || (ends.includes('public') && PUBLIC.has(target))
  if (reaches(arrows.values)) return undefined
  if (reaches(arrows.types)) return typeOnly ? undefined : `${from} imports a value of ${to}`
  return `${from} imports ${to}`
}

function roomFaultOf(file: string, target: string): string | undefined {
  const [from, to] = [roomOf(file), roomOf(target)]
  const isFault = from !== to && to in ROOMS && ROOMS[from]?.includes(to) === false
  return isFault ? `${from} imports ${to}` : undefined
}

function roomOf(file: string): string {
  return file.split('/').slice(0, 2).join('/')
}

/** `zod` of `zod/mini`, `@scope/name` of `@scope/name/part`. */
function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

function folderOf(file: string): string {
  const [first = '', second = ''] = file.split('/')
  return first === 'stores' ? `${first}/${second}` : first
}

function resolve(file: string, specifier: string): string {
  const target = join(dirname(file), specifier).replace(/\.js$/, '.ts')
  return SOURCES.includes(target) ? target : target.replace(/\.ts$/, '.d.ts')
}

/** A cycle, if the graph has one. */
function cycleOf(graph: Graph): string[] {
  const done = new Set<string>()
  const walk = (file: string, path: readonly string[]): string[] => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file]
    if (done.has(file)) return []
    const cycle = (graph.get(file) ?? [])
      .map((next) => walk(next, [...path, file]))
      .find(({ length }) => length > 0)
    done.add(file)
    return cycle ?? []
  }
  return [...graph.keys()].map((file) => walk(file, [])).find(({ length }) => length > 0) ?? []
}

/** The longest path of a graph that has no cycle. */
function longestChain(graph: Graph): string[] {
  const known = new Map<string, string[]>()
  const from = (file: string): string[] => {
    const chain = known.get(file) ?? [file, ...longest((graph.get(file) ?? []).map(from))]
    known.set(file, chain)
    return chain
  }
  return longest([...graph.keys()].map(from))
}

function longest(chains: readonly string[][]): string[] {
  return chains.reduce((best, chain) => (chain.length > best.length ? chain : best), [])
}
