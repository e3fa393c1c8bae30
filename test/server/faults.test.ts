import { A2AError } from 'a2a-tasks'
import type * as wire from 'a2a-tasks/schemas'
import type { Execute, Run } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { agent, artifactTexts, textsOf } from './support/faults.js'
import { collect, gate, rejection, type Gate } from './interop/support/agent.js'
import { expectWarnings } from '../support/warnings.js'

// What goes wrong in the official server (1.3.0) must not go wrong here: its faults, one by one.

function codeOf(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    return A2AError.is(error) ? error.code : String(error)
  }
  return 'nothing'
}

function statesOf(events: readonly wire.StreamResponse[]): string[] {
  return events.flatMap(({ task, statusUpdate }) => task?.status.state ?? statusUpdate?.status.state ?? [])
}

describe('illegal transitions', () => {
  const STEPS: readonly [string, (run: Run) => unknown][] = [
    ['start', (run) => run.start()],
    ['update', (run) => run.update('more')],
    ['artifact', (run) => run.artifact('late')],
    ['complete', (run) => run.complete('again')],
    ['fail', (run) => run.fail()],
    ['reject', (run) => run.reject()],
  ]

  test.each(STEPS)('a task that has ended is not changed: %s', async (_, step) => {
    const codes: string[] = []
    const { stream, get } = agent((run) => {
      run.artifact('result')
      run.complete('done')
      codes.push(codeOf(() => step(run)))
      return undefined
    })
    const events = await collect(await stream('go'))
    expect(codes).toEqual(['TASK_TERMINAL'])
    expect(statesOf(events)).toEqual(['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING', 'TASK_STATE_COMPLETED'])
    const task = await get(events[0]?.task?.id ?? '')
    expect(task.status.state).toBe('TASK_STATE_COMPLETED')
    expect(textsOf(task.status.message && [task.status.message])).toEqual(['done'])
    expect(artifactTexts(task)).toEqual(['result'])
  })

  test.each(['requireInput', 'requireAuth', 'reply'] as const)(
    'a task that has ended asks for nothing, and says nothing: %s',
    async (method) => {
      let refused: unknown
      const { send, errors } = agent(async (run) => {
        run.fail('no')
        refused = await rejection(() => run[method]('more'))
      })
      expect((await send('go')).status.state).toBe('TASK_STATE_FAILED')
      expect(refused).toMatchObject({ code: 'TASK_TERMINAL' })
      errors.length = 0
    },
  )

  test('an agent that returns while it works has done its work', async () => {
    const { send } = agent((run) => {
      run.update('working')
    })
    expect((await send('go')).status.state).toBe('TASK_STATE_COMPLETED')
  })

  test('a message after a question without a waiting run is not lost', async () => {
    const { stream, get } = agent((run) => {
      void run.requireInput('?').catch(() => undefined)
      run.artifact('and yet')
      run.complete()
    })
    const [first] = await collect(await stream('go'))
    const task = await get(first?.task?.id ?? '')
    expect(task.status.state).toBe('TASK_STATE_COMPLETED')
    expect(artifactTexts(task)).toEqual(['and yet'])
  })

  test('a task that is complete stays so when the agent throws', async () => {
    const { send, errors } = agent((run) => {
      run.complete('done')
      throw new Error('too late')
    })
    expect((await send('go')).status.state).toBe('TASK_STATE_COMPLETED')
    expect(errors.splice(0)).toMatchObject([
      { error: { message: 'too late' }, context: { during: 'execute' } },
    ])
  })

  test('changes after the agent has returned are refused with an error', async () => {
    const go = gate()
    const late = gate<unknown>()
    const { send, get } = agent((run) => {
      run.start()
      void go.opened.then(() => late.open(codeOf(() => run.artifact('late'))))
    })
    const { id } = await send('go')
    go.open()
    expect(await late.opened).toBe('TASK_TERMINAL')
    expect(artifactTexts(await get(id))).toEqual([])
  })
})

describe('concurrency on one task', () => {
  /** Works on one message at a time, each until its gate opens; says how many worked at once. */
  function oneByOne(): {
    execute: Execute
    started: string[]
    go: (text: string) => void
    most: () => number
  } {
    const gates: Record<string, Gate> = {}
    const started: string[] = []
    let now = 0
    let most = 0
    const gateOf = (text: string): Gate => (gates[text] ??= gate())
    return {
      started,
      go: (text) => gateOf(text).open(),
      most: () => most,
      async execute(run) {
        started.push(run.text)
        now += 1
        most = Math.max(most, now)
        run.start()
        await gateOf(run.text).opened
        run.artifact(`result of ${run.text}`)
        now -= 1
        if (run.text === 'c') run.complete()
      },
    }
  }

  test('follow-ups are worked on one after the other, and nothing is lost', async () => {
    const work = oneByOne()
    const { send, get } = agent(work.execute)
    const now = { returnImmediately: true }
    const { id: taskId, contextId = '' } = await send('a', { configuration: now })
    const waiting = [send('b', { taskId }), send('c', { taskId, contextId })]
    expect(work.started).toEqual(['a'])
    work.go('a')
    work.go('b')
    work.go('c')
    for (const task of await Promise.all(waiting)) {
      expect(task.status.state).toBe('TASK_STATE_COMPLETED')
      expect(artifactTexts(task)).toEqual(['result of a', 'result of b', 'result of c'])
    }
    expect(work.most()).toBe(1)
    expect(textsOf((await get(taskId)).history)).toEqual(['a', 'b', 'c'])
  })

  test('two streams of one task send the same, and end', async () => {
    const work = oneByOne()
    const { stream, send, get } = agent(work.execute)
    const first = await stream('a')
    const { value } = (await first.next()) as { value: wire.StreamResponse }
    const taskId = value.task?.id ?? ''
    const second = await stream('c', { taskId })
    work.go('a')
    work.go('c')
    const [all, rest] = await Promise.all([collect(first), collect(second)])
    expect(rest[0]?.task?.id).toBe(taskId)
    expect(all.at(-1)).toEqual(rest.at(-1))
    expect(statesOf(all).at(-1)).toBe('TASK_STATE_COMPLETED')
    expect(artifactTexts(await get(taskId))).toEqual(['result of a', 'result of c'])
    await expect(send('d', { taskId })).rejects.toThrow('terminal')
  })

  test.each(['queue', 'steer'] as const)(
    'many messages at once are all in the conversation: %s',
    async (onFollowUp) => {
      const go = gate()
      const { send, get } = agent(
        async (run) => {
          run.start()
          await go.opened
        },
        { onFollowUp },
      )
      const { id: taskId } = await send('0', { configuration: { returnImmediately: true } })
      const configuration = { returnImmediately: true }
      await Promise.all(['1', '2', '3', '4', '5'].map((text) => send(text, { taskId, configuration })))
      expect(textsOf((await get(taskId)).history)).toEqual(['0', '1', '2', '3', '4', '5'])
      go.open()
    },
  )

  test('the same message twice is two tasks', async () => {
    const { send } = agent((run) => run.text)
    const twice = [send('x', { messageId: 'm' }), send('x', { messageId: 'm' })] as const
    const [first, second] = await Promise.all(twice)
    expect(first.id).not.toBe(second.id)
  })

  test('a cancel does not wait for an agent that does not listen', async () => {
    const never = gate()
    const { send, result } = agent(async (run) => {
      run.start()
      await never.opened
    })
    const { id } = await send('go', { configuration: { returnImmediately: true } })
    const task = await result<wire.Task>('CancelTask', { id })
    expect(task.status.state).toBe('TASK_STATE_CANCELED')
    never.open()
  })

  test.each(['requireInput', 'requireAuth'] as const)(
    'a cancel ends what waits for the user: %s',
    async (method) => {
      const reason = gate<unknown>()
      const { send, result, get } = agent(async (run) => {
        reason.open(await rejection(() => run[method]('?')))
      })
      const { id } = await send('go')
      expect((await result<wire.Task>('CancelTask', { id })).status.state).toBe('TASK_STATE_CANCELED')
      expect(await reason.opened).toMatchObject({ code: 'TASK_CANCELED' })
      expect((await get(id)).status.state).toBe('TASK_STATE_CANCELED')
    },
  )

  test('of a cancel and a completion the first counts', async () => {
    const go = gate()
    const refused = gate<string>()
    const { send, call, result, get } = agent(async (run) => {
      run.start()
      await go.opened
      if (run.text === 'cancel first') refused.open(codeOf(() => run.complete()))
    })
    const configuration = { returnImmediately: true }
    const canceled = await send('cancel first', { configuration })
    const completed = await send('complete first', { configuration })
    await result('CancelTask', { id: canceled.id })
    go.open()
    expect(await refused.opened).toBe('TASK_CANCELED')
    expect((await get(canceled.id)).status.state).toBe('TASK_STATE_CANCELED')
    expect((await get(completed.id)).status.state).toBe('TASK_STATE_COMPLETED')
    expect((await call('CancelTask', { id: completed.id })).error?.code).toBe(-32002)
    expect((await get(completed.id)).status.state).toBe('TASK_STATE_COMPLETED')
  })
})

describe('faults of the agent', () => {
  const FAILED = 'The agent could not finish this task'

  const FAULTS: Readonly<Record<string, Execute>> = {
    'throws at once': () => {
      throw new Error('s3cret')
    },
    'throws later': async (run) => {
      run.start()
      await Promise.resolve()
      throw new Error('s3cret')
    },
    'throws nothing at all': () => {
      const texts = (function* () {
        yield 'text'
      })()
      texts.throw(undefined)
    },
    'throws what cannot be shown': () => {
      throw Object.create(null)
    },
    'throws an error of this library': () => {
      throw new A2AError('TASK_NOT_FOUND', 's3cret', { taskId: 's3cret' })
    },
    'returns what it should not': () => 42 as never,
    'returns an array': () => Promise.resolve(['s3cret'] as never),
    'yields what it should not': async function* () {
      yield await Promise.resolve('text')
      yield ['s3cret'] as never
    },
    'throws while it yields': async function* () {
      yield await Promise.resolve('text')
      throw new Error('s3cret')
    },
    'makes an artifact that is none': (run) =>
      void run.artifact({ parts: [{ text: 5, s3cret: 1 }] } as never),
    'makes an artifact that cannot be copied': (run) =>
      void run.artifact({ parts: [{ text: 'x' }], metadata: { s3cret: () => undefined } }),
    'makes an artifact that holds itself': (run) => {
      const data: Record<string, unknown> = {}
      data['s3cret'] = data
      run.artifact({ parts: [{ data }] })
    },
    'says nothing at all': (run) => {
      run.update({ message: { parts: [] } })
    },
    'completes with what is no message': (run) => {
      run.complete({ parts: 's3cret' as never })
    },
  }

  test.each(Object.entries(FAULTS))(
    'an agent that %s fails its task, and nothing else',
    async (_, execute) => {
      const { send, stream, errors } = agent(execute)
      const task = await send('go')
      const events = await collect(await stream('go'))
      expect(task.status.state).toBe('TASK_STATE_FAILED')
      expect(textsOf(task.status.message && [task.status.message])).toEqual([FAILED])
      expect(statesOf(events).at(-1)).toBe('TASK_STATE_FAILED')
      expect(JSON.stringify([task, events])).not.toContain('s3cret')
      const context = { during: 'execute', taskId: task.id }
      expect(errors.splice(0).map((error) => error.context)).toEqual([
        context,
        { ...context, taskId: events[0]?.task?.id },
      ])
    },
  )

  test('a task that is malformed by the agent can be mended by it', async () => {
    const { send } = agent((run) => {
      const code = codeOf(() => run.artifact({ parts: [{ text: 5 }] } as never))
      return `refused: ${code}`
    })
    expect(artifactTexts(await send('go'))).toEqual(['refused: INVALID_PARAMS'])
  })

  test('an agent that never ends is ended', async () => {
    const aborted = gate<unknown>()
    const { stream, get, clock, errors } = agent(
      async (run) => {
        run.start()
        run.signal.addEventListener('abort', () => aborted.open(run.signal.reason))
        await gate().opened
      },
      { limits: { runTimeoutMs: 1_000 } },
    )
    const events = await stream('go')
    const { value } = (await events.next()) as { value: wire.StreamResponse }
    clock.advance(999)
    const id = value.task?.id ?? ''
    expect((await get(id)).status.state).toBe('TASK_STATE_WORKING')
    clock.advance(1)
    expect((await get(id)).status.state).toBe('TASK_STATE_FAILED')
    expect(await aborted.opened).toMatchObject({ code: 'TASK_TIMED_OUT' })
    expect(statesOf(await collect(events)).at(-1)).toBe('TASK_STATE_FAILED')
    expect(errors.splice(0)).toMatchObject([{ error: { code: 'TASK_TIMED_OUT' } }])
  })

  test('waiting for the user is no work', async () => {
    const { send, get, clock } = agent(
      async (run) => {
        await run.requireInput('?')
        run.complete()
      },
      { limits: { runTimeoutMs: 1_000 } },
    )
    const { id: taskId } = await send('go')
    clock.advance(1_000_000)
    expect((await get(taskId)).status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    expect((await send('yes', { taskId })).status.state).toBe('TASK_STATE_COMPLETED')
  })

  test('a listener for errors that throws does not stop anything', async () => {
    const { send } = agent(
      () => {
        throw new Error('first')
      },
      {
        onError() {
          throw new Error('second')
        },
      },
    )
    expectWarnings(/second/)
    expect((await send('go')).status.state).toBe('TASK_STATE_FAILED')
  })
})

describe('leaving a stream', () => {
  test('the task continues, and is stored', async () => {
    const go = gate()
    const done = gate()
    const { stream, get } = agent(async (run) => {
      run.start()
      await go.opened
      for (let chunk = 0; chunk < 20; chunk += 1)
        run.artifact({ artifactId: 'a', parts: [{ text: `${chunk} ` }] })
      run.complete()
      done.open()
    })
    let id = ''
    for await (const event of await stream('go')) {
      id = event.task?.id ?? ''
      break
    }
    go.open()
    await done.opened
    const task = await get(id)
    expect(task.status.state).toBe('TASK_STATE_COMPLETED')
    expect(task.artifacts?.[0]?.parts[0]?.text?.trim().split(' ')).toHaveLength(20)
  })

  test('a task is stored when it ends, not when a client reads the end', async () => {
    const { stream, result } = agent((run) => run.text)
    await stream('left unread')
    const { tasks } = await result<wire.ListTasksResponse>('ListTasks', { includeArtifacts: true })
    expect(tasks.map((task) => [task.status.state, ...artifactTexts(task)])).toEqual([
      ['TASK_STATE_COMPLETED', 'left unread'],
    ])
  })

  test('a reader that stalls gets the task again instead of the missed events', async () => {
    const CHUNKS = 25_000
    const { stream } = agent((run) => {
      for (let chunk = 0; chunk < CHUNKS; chunk += 1)
        run.artifact({ artifactId: 'a', parts: [{ text: 'x' }] })
    })
    const events = await collect(await stream('go'))
    expect(events.length).toBeLessThan(CHUNKS)
    const chunks = events.reduce((sum, { task, artifactUpdate }) => {
      if (task !== undefined) return task.artifacts?.[0]?.parts[0]?.text?.length ?? 0
      return sum + (artifactUpdate?.artifact.parts.length ?? 0)
    }, 0)
    expect(chunks).toBe(CHUNKS)
    expect(statesOf(events).at(-1)).toBe('TASK_STATE_COMPLETED')
  })
})

test('the conversation of many turns is whole, and in order', async () => {
  const { send } = agent(async (run) => {
    for (const question of ['q1', 'q2']) await run.requireInput(question)
    run.complete('end')
  })
  const { id: taskId } = await send('turn1')
  await send('turn2', { taskId })
  const task = await send('turn3', { taskId })
  expect(textsOf(task.history)).toEqual(['turn1', 'q1', 'turn2', 'q2', 'turn3', 'end'])
})
