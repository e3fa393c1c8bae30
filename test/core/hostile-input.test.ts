import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { A2AError, TaskManager, saveTasks, restoreTasks } from 'a2a-tasks'
import { setup, thrown, walk } from '../support/manager.js'

class Secret {
  value = 1
}
const cycle: Record<string, unknown> = { name: 'cycle' }
cycle['self'] = { again: cycle }
const sparse: unknown[] = [1]
sparse[2] = 3
const throwing = {
  a: {
    get b(): never {
      throw new Error('from the getter')
    },
  },
}
const { proxy: revoked, revoke } = Proxy.revocable({}, {})
revoke()
const nest = (depth: number, array: boolean): unknown => {
  let value: unknown = 'core'
  for (let i = 0; i < depth; i++) value = array ? [value] : { a: value }
  return value
}

const HOSTILE: [name: string, value: unknown, path: string, reason: string][] = [
  ['a BigInt', { n: 10n }, '.n', 'must be JSON, got a BigInt'],
  ['a function', { list: [0, () => 1] }, '.list[1]', 'must be JSON, got a function'],
  ['a symbol', { s: Symbol('s') }, '.s', 'must be JSON, got a symbol'],
  ['NaN', [NaN], '[0]', 'must be JSON, got NaN'],
  ['Infinity', { n: -Infinity }, '.n', 'must be JSON, got -Infinity'],
  ['a Date', { when: new Date() }, '.when', 'must be JSON, got an instance of Date'],
  ['a Map', new Map(), '', 'must be JSON, got an instance of Map'],
  ['a class instance', { s: new Secret() }, '.s', 'must be JSON, got an instance of Secret'],
  ['a Proxy that is revoked', { p: revoked }, '.p', 'could not be read'],
  ['a sparse array', { list: sparse }, '.list[1]', 'must be JSON, got undefined'],
  ['an array of 4 billion holes', new Array(2 ** 32 - 1), '[0]', 'must be JSON, got undefined'],
  ['a key __proto__', JSON.parse('{"a":{"__proto__":{"polluted":1}}}'), '.a.__proto__', 'is a name that'],
  ['a key constructor', { constructor: { prototype: { polluted: 1 } } }, '.constructor', 'is a name that'],
  [
    'keys that UTF-8 makes one',
    { k: { '\ud83d': 1, '\ud83e': 2 } },
    '.k["\\ud83e"]',
    'becomes the name of another',
  ],
  [
    'a key that UTF-8 makes another',
    { '\ud83d': 1, '\ufffd': 2 },
    '["\\ud83d"]',
    'becomes the name of another',
  ],
  ['a getter that throws', throwing, '.a.b', 'could not be read'],
  ['a toJSON', { toJSON: () => 'x' }, '.toJSON', 'must be JSON, got a function'],
]

describe('what is not JSON', () => {
  test.each(HOSTILE)('%s is refused as input, with its path', (_, value, path, reason) => {
    const { tasks } = setup()
    const error = thrown(() => tasks.createTask({ skill: 'test', input: value }))
    expect(error).toMatchObject({ code: 'INVALID_PARAMS', data: { path: `input${path}` } })
    expect(String(error)).toContain(`input${path} ${reason}`)
    expect(tasks.size()).toBe(1)
    expect(({} as { polluted?: 1 }).polluted).toBeUndefined()
  })

  test.each(HOSTILE)('%s is refused everywhere else', (_, value) => {
    const { tasks, id } = setup()
    const before = JSON.stringify(saveTasks(tasks))
    const bad = value as object
    for (const run of [
      () => tasks.createTask({ skill: 'test', metadata: { bad } }),
      () => tasks.updateTask(id, { output: bad }),
      () => tasks.updateTask(id, { artifacts: [{ bad }] }),
      () => tasks.updateTask(id, { message: { role: 'agent', parts: [{ data: bad }] } }),
      () => tasks.addMessage(id, { role: 'agent', parts: [{ data: bad }] }),
      () => tasks.appendArtifact(id, { artifactId: 'a', parts: [{ data: bad }] }),
      () =>
        restoreTasks(tasks, [
          { id: 'x', skill: 'x', state: 'working', input: bad as never, createdAt: '2026-01-01' },
        ]),
    ]) {
      expect(A2AError.is(thrown(run), 'INVALID_PARAMS')).toBe(true)
      expect(JSON.stringify(saveTasks(tasks))).toBe(before)
    }
  })

  test('an unreadable value is reported with its cause', () => {
    const error = thrown(() => setup().tasks.createTask({ skill: 'test', input: throwing }))
    expect((error as Error).cause).toEqual(new Error('from the getter'))
  })

  test('a revoked proxy is refused wherever an object is asked for', () => {
    const { tasks, id } = setup()
    const bad = revoked as never
    for (const run of [
      () => tasks.createTask(bad),
      () => tasks.updateTask(id, bad),
      () => tasks.listTasks(bad),
    ]) {
      expect(A2AError.is(thrown(run), 'INVALID_PARAMS')).toBe(true)
    }
  })

  test('a getter that throws on the parameters themselves is named too', () => {
    const { tasks } = setup()
    const params = {
      skill: 'test',
      get input(): never {
        throw new Error('no')
      },
    }
    expect(thrown(() => tasks.createTask(params))).toMatchObject({
      code: 'INVALID_PARAMS',
      data: { path: 'input' },
    })
  })
})

test('a lone surrogate becomes U+FFFD, in values and in keys', () => {
  const { tasks, id } = setup()
  const bad = { 'a\udc00': ['\ufeffb\ud800', '😀'] }
  const good = { 'a\ufffd': ['\ufeffb\ufffd', '😀'] }
  expect(tasks.createTask({ skill: 'test', input: bad, metadata: bad })).toMatchObject({
    ...{ input: good, metadata: good },
  })
  tasks.updateTask(id, { output: bad, artifacts: [{ bad }], message: 'c\ud800' })
  tasks.addMessage(id, { role: 'agent', parts: [{ data: bad }] })
  expect(tasks.getTask(id)).toMatchObject({
    ...{ output: good, artifacts: [{ bad: good }], message: 'c\ufffd' },
    messages: [{ parts: [{ data: good }] }],
  })
})

describe('depth', () => {
  test.each([true, false])(
    '100,000 levels (arrays: %s) and cycles are refused without an overflow',
    (array) => {
      const { tasks } = setup()
      for (const input of [nest(100_000, array), cycle]) {
        const error = thrown(() => tasks.createTask({ skill: 'test', input: input }))
        expect(error).toMatchObject({
          code: 'LIMIT_EXCEEDED',
          data: { limit: 'maxDepth', max: 100, actual: 101 },
        })
        expect(String(error)).toContain('is nested deeper than maxDepth (100), or refers to itself')
        expect(String(error).length).toBeLessThan(200)
      }
      expect(tasks.size()).toBe(1)
    },
  )

  test('the limit itself is allowed', () => {
    const tasks = new TaskManager({ limits: { maxDepth: 3 } })
    expect(() => tasks.createTask({ skill: 'test', input: nest(3, false) })).not.toThrow()
    expect(() => tasks.createTask({ skill: 'test', input: nest(4, true) })).toThrow('maxDepth (3)')
  })
})

describe('what JSON.stringify would take too', () => {
  test('is copied as JSON.stringify writes it', () => {
    const { tasks } = setup()
    const plain = Object.assign(Object.create(null) as object, { a: 1 })
    const input = {
      plain,
      dropped: undefined,
      zero: -0,
      emoji: '😀',
      foreign: runInNewContext('({ a: [1] })') as object,
    }
    const task = tasks.createTask({ skill: 'test', input })
    expect(task.input).toEqual(JSON.parse(JSON.stringify(input)))
    expect(Object.getPrototypeOf((task.input as { plain: object }).plain)).toBe(Object.prototype)
  })

  test('a getter is read once', () => {
    let reads = 0
    const input = {
      get n() {
        return ++reads
      },
    }
    expect(setup().tasks.createTask({ skill: 'test', input }).input).toEqual({ n: 1 })
    expect(reads).toBe(1)
  })

  test('a getter that gives commands finds the manager in order', () => {
    const { tasks, id } = setup()
    const input = {
      get n() {
        return tasks.cancelTask(id).generation
      },
    }
    expect(() => tasks.updateTask(id, { state: 'working', output: input })).toThrow(
      'terminal state: canceled',
    )
    expect(tasks.getTask(id)).toMatchObject({ state: 'canceled', output: null, generation: 2 })
  })

  test('a polluted Object.prototype does not reach copies', () => {
    const prototype = Object.prototype as unknown as Record<string, unknown>
    const { tasks } = setup()
    prototype['polluted'] = { deep: true }
    try {
      const task = tasks.createTask({ skill: 'test', input: { a: {} } })
      for (const copy of [task, tasks.getTask(task.id), tasks.peekTask(task.id)]) {
        expect(Object.hasOwn(copy?.input as object, 'polluted')).toBe(false)
      }
    } finally {
      delete prototype['polluted']
    }
  })
})

describe('size', () => {
  test('is the exact number of bytes of UTF-8 JSON of input and metadata', () => {
    const input = { text: 'é😀"\n\u0001' }
    const metadata = { k: [1, true, null, 1.5] }
    const size = Buffer.byteLength(JSON.stringify(input)) + Buffer.byteLength(JSON.stringify(metadata))
    expect(() =>
      new TaskManager({ maxInputSize: size }).createTask({ skill: 'test', input, metadata }),
    ).not.toThrow()
    const tasks = new TaskManager({ maxInputSize: size - 1 })
    expect(thrown(() => tasks.createTask({ skill: 'test', input, metadata }))).toMatchObject({
      code: 'LIMIT_EXCEEDED',
      message: `Input size (${size} bytes) exceeds maxInputSize (${size - 1} bytes)`,
      data: { limit: 'maxInputSize', max: size - 1, actual: size },
    })
  })

  test('stops copying once it is far beyond the limit', () => {
    const tasks = new TaskManager({ maxInputSize: 100 })
    let read = 0
    const input = new Proxy(new Array(1_000_000).fill(0), {
      get(target, key): unknown {
        read += 1
        return Reflect.get(target, key)
      },
    })
    expect(() => tasks.createTask({ skill: 'test', input })).toThrow('Input size (over 1600 bytes) exceeds')
    expect(read).toBeLessThan(5_000)
  })

  test('of output, artifacts and messages is limited too', () => {
    const limits = {
      maxOutputSize: 20,
      maxArtifactsSize: 60,
      maxMessagesSize: 170,
      maxArtifacts: 3,
      maxMessages: 2,
    }
    const { tasks, id } = setup({ limits })
    const text = 'x'.repeat(30)
    const message = { role: 'user' as const, parts: [{ text }], messageId: 'm' }
    const refused = (run: () => unknown, limit: string): void => {
      const before = JSON.stringify(saveTasks(tasks))
      expect(thrown(run)).toMatchObject({ code: 'LIMIT_EXCEEDED', data: { limit } })
      expect(JSON.stringify(saveTasks(tasks))).toBe(before)
    }
    refused(() => tasks.updateTask(id, { output: text }), 'maxOutputSize')
    refused(() => tasks.updateTask(id, { artifacts: [{ text }, { text }] }), 'maxArtifactsSize')
    refused(() => tasks.updateTask(id, { artifacts: [{}, {}, {}, {}] }), 'maxArtifacts')
    refused(() => tasks.updateTask(id, { message: 'x'.repeat(200) }), 'maxMessagesSize')
    tasks.addMessage(id, message)
    refused(() => tasks.addMessage(id, { ...message, parts: [{ text: text + text }] }), 'maxMessagesSize')
    tasks.addMessage(id, message)
    refused(() => tasks.addMessage(id, message), 'maxMessages')
  })

  test('of one update counts each artifact once, as it will be', () => {
    const { tasks, id } = setup({ limits: { maxArtifactsSize: 1_000 } })
    const version = (artifactId: string, length: number): object => ({
      artifactId,
      parts: [{ text: 'x'.repeat(length) }],
    })
    tasks.updateTask(id, { artifacts: [version('a', 900) as never] })
    const shrunk = Array.from({ length: 20 }, () => version('a', 0))
    const others = Array.from({ length: 5 }, (_, index) => version(`b${index}`, 300))
    expect(() => tasks.updateTask(id, { artifacts: [...shrunk, ...others] as never })).toThrow(
      'maxArtifactsSize',
    )
    const versions = [version('a', 700), version('a', 800)]
    expect(() => tasks.updateTask(id, { artifacts: versions as never })).not.toThrow()
  })

  test('of 20,000 artifacts in one update is refused at once', () => {
    const { tasks, id } = setup()
    const artifacts = Array.from({ length: 20_000 }, (_, index) => ({ artifactId: `a${index}` }))
    expect(() => tasks.updateTask(id, { artifacts })).toThrow('Artifacts (20000) exceed maxArtifacts (1000)')
  })

  test('of the history is limited, but for the end', () => {
    const { tasks, id } = setup({ limits: { maxHistory: 4 } })
    walk(tasks, id, 'working', 'input-required', 'working')
    expect(() => walk(tasks, id, 'auth-required')).toThrow('States (5) exceed maxHistory (4)')
    expect(tasks.updateTask(id, { message: 'Still here' }).state).toBe('working')
    expect(tasks.updateTask(id, { state: 'completed' }).state).toBe('completed')
  })

  test('of 200,000 parts in one chunk fits the stack', () => {
    const { tasks, id } = setup()
    const parts = Array.from({ length: 200_000 }, () => ({ text: '' }))
    tasks.appendArtifact(id, { artifactId: 'a', parts })
    tasks.appendArtifact(id, { artifactId: 'a', parts })
    // One of them continues the text before it.
    expect(tasks.peekTask(id)?.artifacts[0]?.parts).toHaveLength(399_999)
  })

  test('of an artifact counts chunk by chunk, and shrinks when it is replaced', () => {
    const { tasks, id } = setup({ limits: { maxArtifactsSize: 1_000, maxArtifacts: 1 } })
    const chunk = { artifactId: 'a', parts: [{ text: 'x'.repeat(90) }] }
    const fill = (): number => {
      for (let count = 0; ; count++) {
        try {
          tasks.appendArtifact(id, chunk)
        } catch (error) {
          expect(error).toMatchObject({ data: { limit: 'maxArtifactsSize' } })
          return count
        }
      }
    }
    expect(fill()).toBe(10)
    for (let i = 0; i < 5; i++) {
      tasks.appendArtifact(id, { artifactId: 'a' }, { append: false })
      expect(fill()).toBe(10)
    }
    expect(() => tasks.appendArtifact(id, { artifactId: 'b' })).toThrow(
      'Artifacts (2) exceed maxArtifacts (1)',
    )
  })
})
