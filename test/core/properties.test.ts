import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  A2AError,
  canTransition,
  evolve,
  isTerminal,
  TaskManager,
  VALID_STATES,
  type TaskEvent,
  type TaskSnapshot,
} from 'a2a-tasks'
import { ManualClock, sequentialIds } from 'a2a-tasks/testing'
import { artifactGrowth, payloadSize, usageAfter, usageOf } from '../../src/core/sizes.js'

const state = fc.constantFrom(...VALID_STATES)
const parts = fc.array(fc.record({ text: fc.string({ maxLength: 8 }) }), { maxLength: 2 })
const artifact = fc.record(
  {
    artifactId: fc.constantFrom('a', 'b', 'c'),
    name: fc.string({ maxLength: 4 }),
    parts,
    metadata: fc.dictionary(fc.constantFrom('x', 'y'), fc.integer()),
  },
  { requiredKeys: ['artifactId'] },
)

type Command = (tasks: TaskManager, id: string) => unknown

/** Any command at all, legal or not. */
const command: fc.Arbitrary<Command> = fc.oneof(
  fc
    .record(
      {
        state,
        output: fc.jsonValue({ maxDepth: 1 }),
        artifacts: fc.array(artifact, { maxLength: 2 }),
        message: fc.option(fc.string()),
      },
      { requiredKeys: [] },
    )
    .map(
      (update): Command =>
        (tasks, id) =>
          tasks.updateTask(id, update),
    ),
  fc.tuple(artifact, fc.boolean()).map(
    ([chunk, append]): Command =>
      (tasks, id) =>
        tasks.appendArtifact(id, chunk, { append }),
  ),
  fc.string({ minLength: 1 }).map(
    (text): Command =>
      (tasks, id) =>
        tasks.addMessage(id, { role: 'user', parts: [{ text }] }),
  ),
  fc.constant<Command>((tasks, id) => tasks.peekTask(id)),
  fc.constant<Command>((tasks, id) => tasks.updateTask(id, { output: () => 1 })),
  { weight: 1, arbitrary: fc.constant<Command>((tasks, id) => tasks.cancelTask(id)) },
)
const script = fc.array(command, { maxLength: 30 })

function run(commands: Command[], check: (tasks: TaskManager, id: string, accepted: boolean) => void): void {
  const tasks = new TaskManager({ clock: new ManualClock(), generateId: sequentialIds() })
  const { id } = tasks.createTask({ skill: 'test', input: { n: 1 } })
  for (const each of commands)
    check(
      tasks,
      id,
      attempt(() => each(tasks, id)),
    )
}

/** Whether `action` was accepted; a refusal is one of ours. */
function attempt(action: () => unknown): boolean {
  try {
    action()
    return true
  } catch (error) {
    if (!A2AError.is(error)) throw error
    return false
  }
}

describe('after any commands', () => {
  test('the generation is the number of events', () => {
    fc.assert(
      fc.property(script, (commands) =>
        run(commands, (tasks, id) => {
          const events = tasks.events(id)
          expect(events.map(({ generation }) => generation)).toEqual(events.map((_, index) => index + 1))
          expect(tasks.peekTask(id)?.generation).toBe(events.length)
        }),
      ),
    )
  })

  test('folding the log rebuilds the task', () => {
    fc.assert(
      fc.property(script, (commands) =>
        run(commands, (tasks, id) => {
          expect(tasks.events(id).reduce<TaskSnapshot | undefined>(evolve, undefined)).toEqual(
            tasks.getTask(id),
          )
        }),
      ),
    )
  })

  test('the history is always a legal path', () => {
    fc.assert(
      fc.property(script, (commands) =>
        run(commands, (tasks, id) => {
          const states = tasks.getTask(id)?.history.map((entry) => entry.state) ?? []
          expect(states[0]).toBe('submitted')
          expect(states.at(-1)).toBe(tasks.getTask(id)?.state)
          for (const [index, to] of states.slice(1).entries()) {
            expect(canTransition(states[index] ?? to, to)).toBe(true)
          }
        }),
      ),
    )
  })

  test('a snapshot taken before a command never changes, and a refused command changes nothing', () => {
    fc.assert(
      fc.property(script, (commands) => {
        let text = ''
        let snapshot: TaskSnapshot | null = null
        run(commands, (tasks, id, accepted) => {
          if (snapshot !== null) expect(JSON.stringify(snapshot)).toBe(text)
          if (snapshot !== null && (!accepted || isTerminal(snapshot.state)))
            expect(tasks.peekTask(id)).toBe(snapshot)
          snapshot = tasks.peekTask(id)
          text = JSON.stringify(snapshot)
        })
      }),
    )
  })

  test('the counted bytes are the bytes of the stored tasks', () => {
    fc.assert(
      fc.property(script, (commands) =>
        run(commands, (tasks, id) => {
          const events = tasks.events(id) as TaskEvent[]
          let task: TaskSnapshot | undefined
          let usage = { artifacts: 0, messages: 0 }
          for (const event of events) {
            if (task !== undefined) usage = usageAfter(usage, task, event, payloadSize(event).bytes)
            task = evolve(task, event)
          }
          if (task !== undefined) expect(usage).toEqual(usageOf(task))
        }),
      ),
    )
  })

  test('a chunk without parts to an artifact without parts is counted right', () => {
    const tasks = new TaskManager()
    const { id } = tasks.createTask({ skill: 'test' })
    for (const chunk of [{}, { parts: [] }, { parts: [{ text: 'x' }] }, { parts: [] }, {}, { name: 'n' }]) {
      const before = tasks.peekTask(id) as TaskSnapshot
      const event = tasks.appendArtifact(id, { artifactId: 'a', ...chunk })
      const grown = usageOf(tasks.peekTask(id) as TaskSnapshot).artifacts - usageOf(before).artifacts
      expect(artifactGrowth(before, event)).toBe(grown)
    }
  })
})

describe('with listeners that give any commands', () => {
  test('events of each task arrive in order, and the log is what listeners received', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(2), command), { maxLength: 25 }), (commands) => {
        const tasks = new TaskManager({ clock: new ManualClock(), generateId: sequentialIds() })
        const ids = [1, 2, 3].map(() => tasks.createTask({ skill: 'test' }).id)
        const emitted = new Map<string, TaskEvent[]>(ids.map((id) => [id, []]))
        const next = (): void => {
          const [target, each] = commands.pop() ?? []
          const id = ids[target ?? 0]
          if (each !== undefined && id !== undefined) attempt(() => each(tasks, id))
        }
        tasks.on('task:stateChange', next)
        tasks.on('task:event', (event) => emitted.get(event.taskId)?.push(event))
        tasks.on('task:updated', next)
        tasks.on('task:artifact', next)
        while (commands.length > 0) next()
        for (const id of ids) expect(emitted.get(id)).toEqual(tasks.events(id, { after: 1 }))
      }),
    )
  })
})
