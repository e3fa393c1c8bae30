/** The arrows of the house: which folder of src/ may import which, and which package. Here they are decided. */
import { dirname, join } from 'node:path/posix'
import { describe, expect, it } from 'vitest'
import { INDEXES, read, SOURCES } from '../support/repository.js'
import { importsOf, type Import } from '../support/source.js'

/** `public`: whatever users can import, too. A file instead of a folder: that file only. */
interface Arrows {
  readonly values?: readonly string[]
  readonly types?: readonly string[]
}

const ARROWS: Record<string, Arrows> = {
  'index.ts': { values: ['core'] },
  core: { types: ['schemas'] },
  schemas: {},
  wire: { values: ['schemas', 'core/errors.ts'], types: ['core'] },
  'agent-card': { values: ['schemas', 'wire', 'core/errors.ts'] },
  client: { values: ['wire', 'agent-card', 'core/errors.ts'], types: ['core', 'schemas'] },
  server: {
    values: [
      ...['core', 'wire', 'agent-card', 'schemas'],
      ...['http/abort.ts', 'http/request.ts', 'http/retry.ts', 'http/url-guard.ts'],
    ],
    types: ['durable'],
  },
  durable: { values: ['core'] },
  'stores/*': { values: ['durable', 'core/errors.ts'], types: ['core'] },
  gateway: {
    values: [
      'client',
      'agent-card',
      'core',
      'schemas',
      'wire',
      'http/request.ts',
      'http/json.ts',
      'client/platform.ts',
      'http/sse-reader.ts',
    ],
    types: ['server'],
  },
  telemetry: { types: ['public'] },
  testing: { values: ['public'] },
}

const PACKAGES: Record<string, readonly string[]> = {
  eventemitter3: ['core/emitter.ts'],
  uuid: ['core/ports.ts'],
  zod: ['schemas', 'wire', 'server', 'gateway'],
  jose: ['agent-card/sign.ts'],
  'eventsource-parser': ['http/sse-reader.ts'],
  'ipaddr.js': ['http/url-guard.ts'],
  '@opentelemetry/api': ['telemetry'],
  '@azure/identity': ['gateway/providers/azure/credentials.ts'],
  '@aws-sdk/client-bedrock-agent-runtime': ['gateway/providers/aws/bedrock-client.ts'],
  '@aws-sdk/client-bedrock-agentcore': ['gateway/providers/aws/agentcore-client.ts'],
  'google-auth-library': ['gateway/providers/vertex/credentials.ts'],
  yaml: ['gateway/config/config.ts'],
}

/** Entered by other folders too, where an index.ts would hand them to users. */
const BUILDING_BLOCKS = [
  ...['schemas/one-of.ts', 'schemas/scalars.ts', 'wire/client/fields.ts', 'wire/client/objects.ts'],
  ...['http/abort.ts', 'http/request.ts', 'http/retry.ts', 'http/url-guard.ts'],
  ...['http/json.ts', 'client/platform.ts', 'http/sse-reader.ts', 'http/url.ts'],
  ...['wire/check.ts', 'wire/errors.ts', 'wire/view.ts', 'durable/options.ts'],
]

/** They may use what only Node has, in a folder called `node` below them too. */
const NODE_FOLDERS = ['telemetry', 'testing', 'stores/sqlite', 'stores/postgres', 'stores/redis']

const PUBLIC = new Set(
  INDEXES.flatMap((index) => [
    index,
    ...importsOf(read(`src/${index}`)).map(({ specifier }) => resolve(index, specifier)),
  ]),
)

describe('the imports of src/', () => {
  it.each(SOURCES)('%s keeps to the arrows', (file) => {
    const faults = importsOf(read(`src/${file}`)).map((imported) => faultOf(file, imported))
    expect(faults.filter((fault) => fault !== undefined)).toEqual([])
  })

  it('have no cycle that is left when types are gone', () => {
    const graph = new Map(SOURCES.map((file) => [file, valueTargets(file)]))
    expect(cycleOf(graph)).toEqual([])
    expect(cycleOf(new Map(Object.entries({ a: ['b'], b: ['c'], c: ['b'] })))).toEqual(['b', 'c', 'b'])
  })
})

describe('the arrows refuse', () => {
  it.each([
    ['core/task.ts', `import type { z } from 'zod'`, 'core imports zod'],
    ['core/task.ts', `import * as z from 'zod/mini'`, 'core imports zod/mini'],
    ['core/task.ts', `import { v4 } from 'uuid'`, 'core imports uuid'],
    ['server/span.ts', `import { trace } from '@opentelemetry/api/x'`, 'server imports @opentelemetry/api/x'],
    [
      'core/json.ts',
      `import { Buffer } from 'node:buffer'`,
      'core is runtime-neutral, and imports node:buffer',
    ],
    ['core/decide.ts', `import { part } from '../schemas/index.js'`, 'core imports a value of schemas'],
    ['core/decide.ts', `import { type Part } from '../schemas/index.js'`, 'core imports a value of schemas'],
    [
      'core/decide.ts',
      `import type { Part } from '../schemas/part.js'`,
      'schemas is entered by its index.ts',
    ],
    ['core/decide.ts', `import type { Store } from '../durable/index.js'`, 'core imports durable'],
    ['core/decide.ts', `export { TaskManager } from '../index.js'`, 'src/index.ts is for users'],
    [
      'testing/manual-clock.ts',
      `import { x } from './index.js'`,
      'a file of testing imports its own index.ts',
    ],
    ['testing/manual-clock.ts', `import { x } from '../core/task-table.js'`, 'testing imports core'],
    [
      'client/client.ts',
      `import { TaskManager } from '../core/task-manager.js'`,
      'client imports a value of core',
    ],
    [
      'server/push.ts',
      `const { open } = await import('../durable/index.js')`,
      'server imports a value of durable',
    ],
    ['server/push.ts', `import { A2AClient } from '../client/index.js'`, 'server imports client'],
    ['server/push.ts', `import { run } from '../client/run.js'`, 'client is entered by its index.ts'],
    ['stores/redis/index.ts', `import { Redis } from 'ioredis'`, 'stores/redis imports ioredis'],
    [
      'stores/redis/index.ts',
      `import { row } from '../sqlite/index.js'`,
      'stores/redis imports stores/sqlite',
    ],
    ['agent-card/build.ts', `import * as jose from 'jose'`, 'agent-card imports jose'],
    ['plugins/index.ts', `import type { Task } from '../core/task.js'`, 'plugins has no arrows'],
  ])('in %s: %s', (file, code, fault) => {
    expect(importsOf(code).map((imported) => faultOf(file, imported))).toEqual([fault])
  })
})

describe('the arrows allow', () => {
  it.each([
    ['core/decide.ts', `import type { Part } from '../schemas/index.js'`],
    ['core/decide.ts', `import { evolve } from './evolve.js'`],
    ['core/ports.ts', `import { v4 } from 'uuid'`],
    ['schemas/part.ts', `import * as z from 'zod/mini'`],
    ['telemetry/span.ts', `import { trace } from '@opentelemetry/api/x'`],
    ['client/client.ts', `import { A2AError } from '../core/errors.js'`],
    ['client/client.ts', `import type { Task } from '../core/task.js'`],
    ['server/node/index.ts', `import type { Server } from 'node:http'`],
    ['server/push.ts', `import { urlGuard } from '../client/url-guard.js'`],
    ['stores/redis/index.ts', `import { rowOf } from '../../durable/index.js'`],
    ['testing/clock.ts', `import { TaskManager } from '../core/task-manager.js'`],
  ])('in %s: %s', (file, code) => {
    expect(importsOf(code).map((imported) => faultOf(file, imported))).toEqual([undefined])
  })
})

function faultOf(file: string, { specifier, typeOnly }: Import): string | undefined {
  const from = folderOf(file)
  if (specifier.startsWith('node:')) {
    const isFree = NODE_FOLDERS.includes(from) || file.includes('/node/')
    return isFree ? undefined : `${from} is runtime-neutral, and imports ${specifier}`
  }
  if (!specifier.startsWith('.')) {
    const users = PACKAGES[packageOf(specifier)] ?? []
    return users.includes(from) || users.includes(file) ? undefined : `${from} imports ${specifier}`
  }
  const target = resolve(file, specifier)
  const to = folderOf(target)
  if (target === 'index.ts') return 'src/index.ts is for users'
  if (to === from) {
    return target === `${to}/index.ts` ? `a file of ${to} imports its own index.ts` : undefined
  }
  const isOpen = to === 'core' || BUILDING_BLOCKS.includes(target)
  if (!isOpen && target !== `${to}/index.ts`) return `${to} is entered by its index.ts`
  const arrows = ARROWS[from.replace(/^stores\/.*/, 'stores/*')]
  if (arrows === undefined) return `${from} has no arrows`
  const reaches = (ends: readonly string[] = []): boolean =>
    ends.includes(to) || ends.includes(target) || (ends.includes('public') && PUBLIC.has(target))
  if (reaches(arrows.values)) return undefined
  if (reaches(arrows.types)) return typeOnly ? undefined : `${from} imports a value of ${to}`
  return `${from} imports ${to}`
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
  return join(dirname(file), specifier).replace(/\.js$/, '.ts')
}

function valueTargets(file: string): string[] {
  return importsOf(read(`src/${file}`))
    .filter(({ specifier, typeOnly }) => !typeOnly && specifier.startsWith('.'))
    .map(({ specifier }) => resolve(file, specifier))
}

/** One cycle, if there is any. */
function cycleOf(graph: ReadonlyMap<string, readonly string[]>): string[] {
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
