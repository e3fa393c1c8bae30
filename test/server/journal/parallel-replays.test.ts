/** Parallel code that continues in another process: at another speed, or changed. */
import type { Execute, Run } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import {
  begin,
  pass,
  replicas,
  resultOf,
  settle,
  stateAt,
  type Replica,
} from '../durable/support/replicas.js'
import { call, jsonRpc } from '../spec/support/agent.js'

const forEver = (): Promise<never> => new Promise(() => undefined)

/** Runs `here` until nothing more happens, and `there` in another process until the task is in `state`. */
async function continued(
  here: Execute,
  there: Execute,
  state: string,
): Promise<{ readonly b: Replica; readonly id: string }> {
  const { a, b, clock } = replicas([here, there])
  const { id } = await begin(a, 'go')
  await settle()
  a.store.fail()
  await pass(clock, async () => (await stateAt(b, id)) === state)
  return { b, id }
}

/** Resolves once it is opened. */
function gateOf(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { opened, open }
}

test('branches whose steps do not overlap continue in the order of the history', async () => {
  const did: string[] = []
  const functionOf =
    (isFirst: boolean): Execute =>
    async (run) => {
      const [a, b] = [gateOf(), gateOf()]
      const step = (name: string): Promise<string> =>
        run.step(name, () => {
          did.push(name)
          return name
        })
      const branch = async (name: string, mayGo: Promise<void>, then: () => void): Promise<string> => {
        await step(`${name}1`)
        // Work outside of steps, which is as fast as it likes.
        await mayGo
        const second = await step(`${name}2`)
        then()
        return second
      }
      // At first a is faster. When the function is called again, b is.
      const open = Promise.resolve()
      if (!isFirst) setImmediate(a.open)
      const all = await Promise.all([
        branch('a', isFirst ? open : a.opened, () => setImmediate(b.open)),
        branch('b', isFirst ? b.opened : open, () => undefined),
      ])
      if (isFirst) await forEver()
      return all.join()
    }
  const { b, id } = await continued(functionOf(true), functionOf(false), 'completed')
  expect(await resultOf(b, id)).toEqual(['a2,b2'])
  expect(did.sort()).toEqual(['a1', 'a2', 'b1', 'b2'])
})

const parallel = async (run: Run, names: readonly string[]): Promise<void> => {
  await Promise.all(names.map((name) => run.step(name, () => name)))
}

test('parallel code that asks for another step than the history has fails in the end', async () => {
  const { b, id } = await continued(
    async (run) => {
      await parallel(run, ['x', 'y'])
      await forEver()
    },
    (run) => parallel(run, ['x', 'z']),
    'failed',
  )
  expect(b.errors).toMatchObject([
    { error: { code: 'JOURNAL_MISMATCH', data: { taskId: id, recorded: 'step y#1', asked: 'step z#1' } } },
  ])
})

test('parallel code that waits for its history ends as soon as its task is canceled', async () => {
  const reasons: unknown[] = []
  let isBegun = false
  const { a, b, clock } = replicas([
    async (run) => {
      await parallel(run, ['x', 'y'])
      await forEver()
    },
    async (run) => {
      isBegun = true
      await parallel(run, ['x', 'z']).catch((error: unknown) => {
        reasons.push(error)
        throw error
      })
    },
  ])
  const { id } = await begin(a, 'go')
  await settle()
  a.store.fail()
  await pass(clock, () => Promise.resolve(isBegun))
  await settle()
  expect(reasons).toEqual([])
  await call(jsonRpc, b, 'CancelTask', { id })
  await settle()
  expect(reasons).toMatchObject([{ code: 'TASK_CANCELED' }])
})

test('a branch that is gone fails the turn that continues', async () => {
  const { b } = await continued(
    async (run) => {
      await Promise.all([run.step('outer', forEver), run.step('inner', () => 1)])
    },
    async (run) => {
      await run.step('outer', () => 1)
    },
    'failed',
  )
  expect(b.errors).toMatchObject([
    { error: { code: 'JOURNAL_MISMATCH', data: { recorded: 'step inner#1', asked: 'step outer#1' } } },
  ])
})

test('a step that the code does not await is not an unhandled rejection', async () => {
  const rejected: unknown[] = []
  const onRejection = (error: unknown): void => void rejected.push(error)
  process.on('unhandledRejection', onRejection)
  const step = gateOf()
  const { a, clock } = replicas((run) => {
    void run.step('not awaited', () => step.opened)
    return 'done'
  })
  const { id } = await begin(a, 'go')
  await pass(clock, async () => (await stateAt(a, id)) === 'completed')
  step.open()
  await settle()
  process.off('unhandledRejection', onRejection)
  expect(rejected).toEqual([])
})

describe.each<[string, (run: Run) => Promise<unknown>]>([
  ['sleep', (run) => run.sleep('night', { ms: 1_000 })],
  ['wait', (run) => run.waitFor('approval')],
  ['step', (run) => run.step('long', forEver)],
])('a value that a branch gets while another begins a %s', (_, beginOther) => {
  test.each([0, 1, 2, 3, 4])('does not end the turn (%i promises later)', async (promises) => {
    const execute =
      (isAgain: boolean): Execute =>
      async (run) => {
        const other = beginOther(run)
        for (let at = 0; at < promises; at += 1) await Promise.resolve()
        run.now()
        await (isAgain ? Promise.race([other, run.requireInput('Arrived')]) : other)
      }
    await continued(execute(false), execute(true), 'input-required')
  })
})

describe('what branches write outside of steps', () => {
  /** Two branches with a step each. `pauses` says when a branch goes on before its step and after it. */
  const branchesWith =
    (
      pauses: Readonly<Record<string, () => Promise<unknown>>>,
      write: (run: Run, name: string) => void,
    ): Execute =>
    async (run) => {
      const branch = async (name: string): Promise<void> => {
        await pauses[`before ${name}`]?.()
        await run.step(name, () => name)
        await pauses[`after ${name}`]?.()
        write(run, name)
      }
      await Promise.all([branch('a'), branch('b')])
      return 'done'
    }
  const later = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

  test.each([
    ['an artifact', (run: Run, name: string) => run.artifact({ artifactId: name, parts: [{ text: name }] })],
    ['an artifact without an id', (run: Run, name: string) => run.artifact(name)],
  ])('%s is there once, whatever was stored before', async (_, write) => {
    // At first, `a` has written nothing when the process dies, and `b` has. Then `a` writes while the step of `b` is left.
    const { b, id } = await continued(
      branchesWith({ 'after a': forEver }, write),
      branchesWith({ 'before b': later, 'after b': later }, write),
      'completed',
    )
    expect([...(await resultOf(b, id))].sort()).toEqual(['a', 'b', 'done'])
  })

  test('an artifact without an id is there once, though a branch that has written nothing yet is faster', async () => {
    const execute: Execute = async (run) => {
      const asks = async (): Promise<void> => {
        await run.requireInput('Which?')
        run.artifact('asked')
      }
      const works = async (): Promise<void> => {
        await run.step('work', () => undefined)
        // In a replay, the other branch goes on before this.
        await later()
        run.artifact('worked')
      }
      const worksLonger = (): Promise<unknown> =>
        run.step('more work', async () => {
          for (let count = 0; count < 3; count += 1) await later()
        })
      await Promise.all([asks(), works(), worksLonger()])
      return 'done'
    }
    const { a, b, clock } = replicas([execute, execute])
    const { id } = await begin(a, 'go')
    await settle()
    a.store.fail()
    await begin(b, 'this', id)
    await pass(clock, async () => (await stateAt(b, id)) === 'completed')
    expect([...(await resultOf(b, id))].sort()).toEqual(['asked', 'done', 'worked'])
  })

  test('a change of the metadata is not lost', async () => {
    const write = (run: Run, name: string): void => run.setMetadata({ [name]: true })
    const { b, id } = await continued(
      branchesWith({ 'after a': forEver, 'after b': forEver }, write),
      branchesWith({ 'before b': later }, write),
      'completed',
    )
    expect((await b.tasks.getTask(id))?.metadata).toMatchObject({ a: true, b: true })
  })

  test.each([0, 1, 2, 3, 4])('is sent once beside a wait (%i promises later)', async (most) => {
    const execute: Execute = async (run) => {
      const report = async (): Promise<void> => {
        for (let count = 0; count < most; count += 1) await Promise.resolve()
        run.artifact('report')
      }
      await Promise.all([run.waitFor('go'), report()])
      return 'done'
    }
    const { a, b, clock } = replicas([execute, execute])
    const { id } = await begin(a, 'go')
    await settle()
    a.store.fail()
    await b.tasks.signal(id, 'go')
    await pass(clock, async () => (await stateAt(b, id)) === 'completed')
    expect(await resultOf(b, id)).toEqual(['report', 'done'])
  })
})
