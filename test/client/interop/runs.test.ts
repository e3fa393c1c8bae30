/** `run` and `resume`, with each peer. */
import { describe, expect } from 'vitest'
import { asker, gate, hesitant, replier, storyteller, worker } from './agents.js'
import { PEERS } from './peers.js'
import { clientOf, connect, feature } from './support/agent.js'
import type { RunHandle } from './types.js'

const FAST = { pollIntervalMs: 1 }

describe.each(PEERS)('$name', (peer) => {
  feature(peer, 'run by stream', async () => {
    const client = await connect(peer, { agent: storyteller })
    const received: string[] = []
    const result = await client.run('go', {
      ...FAST,
      onUpdate: ({ event, task, handle }) => {
        received.push(`${event.type} ${task.state}`)
        expect(handle.taskId).toBe(task.id)
      },
    })
    expect(result).toMatchObject({ ok: true, type: 'completed', text: 'one two three' })
    expect(received).toEqual([
      'task submitted',
      'status working',
      'status working',
      ...['artifact working', 'artifact working', 'artifact working'],
      'status completed',
    ])
  })

  feature(peer, 'run by polling', async () => {
    const go = gate()
    const client = await connect(peer, { agent: hesitant(go), streaming: false })
    const states: string[] = []
    const result = await client.run('go', {
      ...FAST,
      onUpdate({ event, task }) {
        expect(event.type).toBe('task')
        states.push(task.state)
        go.open()
      },
    })
    expect(result).toMatchObject({ ok: true, type: 'completed', text: 'before after' })
    expect(states.at(-1)).toBe('completed')
  })

  feature(peer, 'run of a reply', async () => {
    for (const streaming of [true, false]) {
      const client = await connect(peer, { agent: replier, streaming })
      expect(await client.run('you', FAST)).toMatchObject({ ok: true, type: 'message', text: 'Hello you' })
    }
  })

  feature(peer, 'run with onInputRequired', async () => {
    for (const streaming of [true, false]) {
      const client = await connect(peer, { agent: asker, streaming })
      const asked: string[] = []
      const result = await client.run('weather', {
        ...FAST,
        onInputRequired({ message }) {
          asked.push(message?.parts[0]?.text ?? '')
          return 'Rome'
        },
      })
      expect(asked).toEqual(['Which city?'])
      expect(result).toMatchObject({ ok: true, type: 'completed', text: 'Sunny in Rome' })
      const unanswered = await client.run('weather', FAST)
      expect(unanswered).toMatchObject({ ok: false, type: 'input-required', text: 'Which city?' })
    }
  })

  feature(peer, 'run that is aborted cancels the task', async () => {
    for (const streaming of [true, false]) {
      const client = await connect(peer, { agent: worker, streaming })
      const controller = new AbortController()
      const result = await client.run('go', {
        ...FAST,
        signal: controller.signal,
        onUpdate: ({ task }) => {
          if (task.state === 'working') controller.abort()
        },
      })
      expect(result).toMatchObject({ ok: false, type: 'canceled', task: { state: 'canceled' } })
      if (result.type !== 'canceled') throw new Error('It is not canceled')
      expect((await client.getTask(result.task.id)).state).toBe('canceled')
    }
  })

  feature(peer, 'resume by another client', async () => {
    for (const streaming of [true, false]) {
      const go = gate()
      const served = await peer.serve({ agent: hesitant(go), streaming })
      let handle: RunHandle | undefined
      const first = await clientOf(peer, served).run('go', {
        ...FAST,
        // A process that ends sends no cancel: it is not aborted, it is over.
        timeoutMs: 1_000_000,
        onUpdate(update) {
          handle = structuredClone(update.handle)
          if (update.task.artifacts.length > 0) go.open()
        },
      })
      expect(first).toMatchObject({ ok: true, text: 'before after' })
      if (handle === undefined) throw new Error('No update came')
      const second = await clientOf(peer, served).resume(handle, FAST)
      expect(second).toMatchObject({ ok: true, type: 'completed', text: 'before after' })
    }
  })

  feature(peer, 'resume while the task works', async () => {
    const go = gate()
    const served = await peer.serve({ agent: hesitant(go) })
    const sent = await clientOf(peer, served).send('go', { returnImmediately: true })
    if (sent.type !== 'task') throw new Error('There is no task')
    const { id: taskId, messages } = sent.task
    const result = await clientOf(peer, served).resume(
      { messageId: messages[0]?.messageId ?? 'message', taskId },
      { ...FAST, onUpdate: () => go.open() },
    )
    expect(result).toMatchObject({ ok: true, type: 'completed', text: 'before after' })
  })
})
