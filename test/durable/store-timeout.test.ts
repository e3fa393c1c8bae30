/** A store that does not answer, or says what it should not. */
import { spawnSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { A2AError } from 'a2a-tasks'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import type { Creation, DurableTaskManagerOptions } from 'a2a-tasks/durable'
import { ManualClock } from 'a2a-tasks/testing'
import { faultyStore, gate, withoutHints, type Faults, type StepName } from '../support/faulty-store.js'
import { ROOT } from '../support/repository.js'
import { uncaughtBy } from '../support/uncaught.js'
import { logOf, rejection, replicas, says, textsOf, turn, type Replicas } from './support/durable.js'

const NEVER = new Promise<never>(() => undefined)
const LISTENER = { onNews: () => undefined, onLost: () => undefined, onOrphan: () => undefined }

interface World extends Replicas {
  readonly inner: ReturnType<typeof memoryStore>
  readonly faults: Faults
  readonly asked: StepName[]
}

function world(options: Partial<DurableTaskManagerOptions> = {}, count = 1): World {
  const clock = new ManualClock()
  const inner = memoryStore({ now: () => clock.now() })
  const asked: StepName[] = []
  const faults: Faults = {}
  const store = faultyStore(inner, {
    before: (step, args) => {
      asked.push(step)
      return faults.before?.(step, args)
    },
    after: (...args) => faults.after?.(...args),
  })
  return { ...replicas(count, { ...options, store }, clock), inner, faults, asked }
}

/** Lets time pass, in steps that let those who wait for it continue. */
async function pass(clock: ManualClock, ms: number, stepMs = 500): Promise<void> {
  for (let left = ms; left > 0; left -= stepMs) {
    clock.advance(Math.min(stepMs, left))
    await turn()
  }
}

/** What becomes of a promise by now. */
function fateOf(promise: Promise<unknown>): { now: unknown } {
  const fate: { now: unknown } = { now: 'pending' }
  promise.then(
    () => (fate.now = 'done'),
    (error: unknown) => (fate.now = A2AError.is(error) ? error.code : error),
  )
  return fate
}

/** The first step of this name is never answered; those after it are. */
function silentOnce(name: StepName): (step: StepName) => unknown {
  let isFirst = true
  return (step) => {
    if (step !== name || !isFirst) return undefined
    isFirst = false
    return NEVER
  }
}

describe('a step that is not answered', () => {
  test('is given again before storeRetryMs is over: another connection may serve', async () => {
    const { a, faults, clock } = world()
    const { id } = await a.createTask({ skill: 'test' })
    faults.before = silentOnce('commit')
    const changed = fateOf(a.patchTask(id, { state: 'working' }))
    await pass(clock, 4_000)
    expect(changed.now).toBe('pending')
    await pass(clock, 2_000)
    expect(changed.now).toBe('done')
  })

  test('fails after storeRetryMs, and those that waited behind it are taken', async () => {
    const { a, faults, clock } = world()
    const { id } = await a.createTask({ skill: 'test' })
    faults.before = (step) => (step === 'commit' ? new Promise(() => undefined) : undefined)
    const changed = fateOf(a.patchTask(id, { state: 'working' }))
    await turn()
    const read = fateOf(a.getTask(id))
    await pass(clock, 9_000)
    expect([changed.now, read.now]).toEqual(['pending', 'pending'])
    await pass(clock, 3_000)
    expect([changed.now, read.now]).toEqual(['STORE_FAILED', 'done'])
    faults.before = undefined
    await a.patchTask(id, { state: 'working' })
  })

  test('of a process that was stopped for longer is repeated, and its answer received', async () => {
    const { a, faults, clock } = world()
    const { id } = await a.createTask({ skill: 'test' })
    const { opened, open } = gate()
    faults.after = (step) => (step === 'commit' ? opened : undefined)
    const changed = fateOf(a.patchTask(id, { state: 'working' }))
    await turn()
    clock.advance(60_000)
    faults.after = undefined
    open()
    await pass(clock, 1_000)
    expect(changed.now).toBe('done')
  })

  test('says for how long it was waited for', async () => {
    const { a, faults, clock } = world({ storeRetryMs: 2_000 })
    faults.before = (step) => (step === 'count' ? new Promise(() => undefined) : undefined)
    const counted = rejection(a.size())
    await pass(clock, 4_000)
    const error = await counted
    expect(error).toMatchObject({ code: 'STORE_FAILED', data: { operation: 'count' } })
    expect(error instanceof Error && String(error.cause)).toMatch(/No answer within \d+ ms$/)
  })

  test('may be answered late: the late answer is ignored', async () => {
    const { a, faults, clock } = world()
    const { opened, open } = gate()
    faults.before = async (step) => {
      if (step !== 'count') return
      await opened
      throw new Error('Late')
    }
    const counted = fateOf(a.size())
    await pass(clock, 12_000)
    expect(counted.now).toBe('STORE_FAILED')
    expect(await uncaughtBy(open)).toEqual([])
  })

  test('leaves no timer when it is answered', async () => {
    const { a, clock } = world()
    const before = clock.pending
    await a.size()
    expect(clock.pending).toBe(before)
  })

  test.each(['commit', 'heads', 'listen', 'publish', 'orphans', 'renew', 'all'] as const)(
    'does not prevent destroying the manager: %s',
    async (name) => {
      const { a, faults, clock } = world()
      const { id } = await a.createTask({ skill: 'test' })
      const leased = a.lease(LISTENER)
      await leased.acquire(id)
      faults.before = (step) => (step === name || name === 'all' ? NEVER : undefined)
      const before = ['MANAGER_DESTROYED', 'STORE_FAILED']
      const waited = fateOf(a.waitFor(id))
      leased.patchTask(id, { state: 'working' })
      await pass(clock, 11_000)
      const read = fateOf(a.getTask(id))
      await turn()
      const destroyed = fateOf(a.destroy())
      await pass(clock, 5_000)
      await pass(clock, 500)
      expect(destroyed.now).toBe('done')
      expect(waited.now).toSatisfy((fate) => before.includes(String(fate)))
      expect(read.now).not.toBe('pending')
      expect(clock.pending).toBe(0)
    },
  )

  test('a subscription to hints that comes about after all is ended', async () => {
    const clock = new ManualClock()
    const { opened, open } = gate()
    let listening = 0
    const hints = {
      publish: () => Promise.resolve(),
      listen: async () => {
        await opened
        listening += 1
        return () => {
          listening -= 1
          return Promise.resolve()
        }
      },
    }
    const store = new Proxy(withoutHints(memoryStore()), {
      get: (target, name) => (name === 'hints' ? hints : (Reflect.get(target, name) as unknown)),
    })
    const tasks = new DurableTaskManager({ store, clock, onError: () => undefined })
    const { id } = await tasks.createTask({ skill: 'test' })
    tasks.waitFor(id).catch(() => undefined)
    await turn()
    const destroyed = fateOf(tasks.destroy())
    await pass(clock, 6_000)
    expect(destroyed.now).toBe('done')
    open()
    await turn()
    expect(listening).toBe(0)
  })
})

describe('callers that wait receive an error while the store is silent', () => {
  test('its time runs, and its signal aborts', async () => {
    const { a, faults, clock } = world()
    const { id } = await a.createTask({ skill: 'test' })
    faults.before = (step) => (step === 'heads' ? NEVER : undefined)
    const controller = new AbortController()
    const late = fateOf(a.waitFor(id, { timeoutMs: 50 }))
    const aborted = fateOf(a.waitFor(id, { signal: controller.signal }))
    const left = a.subscribe(id, { signal: controller.signal })
    const returned = a.subscribe(id)
    const nexts = [left, returned].map((subscription) => fateOf(subscription.next()))
    await turn()
    clock.advance(50)
    controller.abort()
    await returned.return()
    await turn()
    expect(late.now).toBe('WAIT_TIMED_OUT')
    expect(aborted.now).toBe('WAIT_ABORTED')
    expect(nexts.map(({ now }) => now)).toEqual(['done', 'done'])
  })

  test('and the manager reads nothing for them later', async () => {
    const { a, faults, clock, asked } = world()
    const { id } = await a.createTask({ skill: 'test' })
    const { opened, open } = gate()
    faults.before = (step) => (step === 'heads' ? opened : undefined)
    const late = fateOf(a.waitFor(id, { timeoutMs: 50 }))
    await turn()
    clock.advance(50)
    open()
    await turn()
    expect(late.now).toBe('WAIT_TIMED_OUT')
    asked.length = 0
    await pass(clock, 6_000)
    expect(asked).not.toContain('heads')
  })
})

describe('an error of a store', () => {
  test('that is a STORE_FAILED is final, and passed on as it is', async () => {
    const { a, faults, asked } = world()
    const own = new A2AError('STORE_FAILED', 'The tables are not set up', { operation: 'migrate' })
    faults.before = (step) => {
      if (step === 'create') throw own
    }
    expect(await rejection(a.createTask({ skill: 'test' }))).toBe(own)
    expect(asked.filter((step) => step === 'create')).toHaveLength(1)
  })

  test('that is any other of the library is a cause like others, and asked again', async () => {
    const { a, faults, asked, clock } = world()
    const other = new A2AError('TASK_NOT_FOUND', 'secret', { taskId: 'secret' })
    faults.before = (step) => {
      if (step === 'create') throw other
    }
    const created = rejection(a.createTask({ skill: 'test' }))
    await pass(clock, 11_000)
    const error = await created
    expect(error).toMatchObject({ code: 'STORE_FAILED', data: { operation: 'create' }, cause: other })
    expect(String(error)).not.toContain('secret')
    expect(asked.filter((step) => step === 'create').length).toBeGreaterThan(5)
  })
})

describe('a change that a store refuses for good', () => {
  const refusal = new A2AError('STORE_FAILED', 'The row is too large', { operation: 'commit' })
  const refusing: Faults['before'] = (step, args) => {
    if (step === 'commit' && JSON.stringify(args).includes('poison')) throw refusal
  }

  test('fails alone, and others that went with it arrive', async () => {
    const { a, faults, inner } = world()
    const { id } = await a.createTask({ skill: 'test' })
    const { opened, open } = gate()
    let isFirst = true
    faults.before = (step, args) => {
      if (step === 'commit' && isFirst) {
        isFirst = false
        return opened
      }
      return refusing(step, args)
    }
    const first = a.addMessage(id, says('first'))
    await turn()
    const fates = ['one', 'poison', 'two'].map((text) => fateOf(a.addMessage(id, says(text))))
    await turn()
    open()
    await first
    await turn()
    expect(fates.map(({ now }) => now)).toEqual(['done', 'STORE_FAILED', 'done'])
    expect(textsOf(await a.getTask(id))).toEqual(['first', 'one', 'two'])
    expect(await logOf(inner, id)).toHaveLength(4)
  })

  test('does not fail the run when it is a message of a user', async () => {
    const { a, faults } = world()
    const lost: unknown[] = []
    const leased = a.lease({ ...LISTENER, onLost: (...given) => void lost.push(given) })
    const { id } = leased.createTask({ skill: 'test' })
    await leased.stored(id)
    faults.before = refusing
    const poisoned = fateOf(a.addMessage(id, says('poison')))
    leased.appendArtifact(id, { artifactId: 'a', parts: [{ text: 'good' }] })
    await leased.stored(id)
    await turn()
    expect(poisoned.now).toBe('STORE_FAILED')
    expect(lost).toEqual([])
    expect((await a.getTask(id))?.artifacts).toHaveLength(1)
  })

  test('fails all later changes when it is the creation', async () => {
    const { a, faults } = world()
    const lost: unknown[] = []
    const leased = a.lease({ ...LISTENER, onLost: (taskId) => void lost.push(taskId) })
    faults.before = (step, [given]) => {
      // What is to follow would be taken, by itself.
      if (step === 'create' && (given as Creation).events[0]?.type === 'created') throw refusal
    }
    const { id } = leased.createTask({ skill: 'test' })
    leased.patchTask(id, { state: 'working' })
    leased.patchTask(id, { output: 'what follows' })
    await turn()
    expect(lost).toEqual([id])
    expect(await a.getTask(id)).toBeNull()
  })
})

describe('a store that contradicts itself', () => {
  test('that gives a task, and says that it is not there, is not asked forever', async () => {
    const { a, faults, asked, inner } = world()
    const { a: other } = replicas(1, { store: inner })
    const { id } = await other.createTask({ skill: 'test' })
    faults.before = (step, args) => {
      if (step === 'heads') (args[0] as string[]).length = 0
    }
    expect(await rejection(a.getTask(id))).toMatchObject({ code: 'STORE_FAILED' })
    expect(asked.length).toBeLessThan(50)
  })

  test.each([undefined, true, 'ok'])('that answers a commit with %s fails', async (answer) => {
    const inner = memoryStore()
    const store = new Proxy(inner, {
      get(target, name) {
        if (name === 'commit') return () => Promise.resolve(answer)
        const value: unknown = Reflect.get(target, name)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      },
    })
    const { a } = replicas(1, { store })
    const { id } = await a.createTask({ skill: 'test' })
    expect(await rejection(a.addMessage(id, says('?')))).toMatchObject({ code: 'STORE_FAILED' })
  })
})

test('an onError whose promise rejects affects nothing: the error goes to the runtime', async () => {
  const clock = new ManualClock()
  const own = new Error('From onError')
  const faults: Faults = {
    before: (step) => {
      if (step === 'orphans') throw new Error('Away')
    },
  }
  const store = faultyStore(memoryStore({ now: () => clock.now() }), faults)
  const tasks = new DurableTaskManager({ store, clock, onError: () => Promise.reject(own) as never })
  expect(await uncaughtBy(() => clock.advance(10_000))).toEqual([own])
  await tasks.destroy()
})

describe('a process', () => {
  function run(script: string): readonly [string, number | null, string] {
    const code = `import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'\n${script}`
    const args = ['--input-type=module', '--eval', code]
    const { stdout, status, stderr } = spawnSync(process.execPath, args, {
      cwd: ROOT,
      encoding: 'utf8',
      timeout: 25_000,
    })
    return [stdout, status, stderr]
  }

  test('whose caller waits for the store to be back lives until it is', () => {
    const [stdout, status, stderr] = run(`
      const store = memoryStore()
      const { create } = store
      let failures = 3
      store.create = (...given) =>
        failures-- > 0 ? Promise.reject(new Error('Busy')) : create.apply(store, given)
      const tasks = new DurableTaskManager({ store })
      await tasks.createTask({ skill: 'test', id: 'x' })
      console.log('created')
    `)
    expect([stdout, status], stderr).toEqual(['created\n', 0])
  })

  test('that only polls for changes while the store is away may end', () => {
    const [stdout, status, stderr] = run(`
      const store = memoryStore()
      const tasks = new DurableTaskManager({ store, pollIntervalMs: 10, storeRetryMs: 60_000 })
      await tasks.createTask({ skill: 'test', id: 'x' })
      await tasks.signalOf('x')
      const alive = setInterval(() => {}, 1_000)
      store.heads = () => {
        console.log('asked')
        clearInterval(alive)
        return Promise.reject(new Error('Away'))
      }
    `)
    expect([stdout, status], stderr).toEqual(['asked\n', 0])
  })
})
