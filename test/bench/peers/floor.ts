/**
 * The floor for any library: a Map of the tasks, and a handwritten copy for tasks of exactly one shape.
 */
import type { Task } from 'a2a-tasks'
import type { INPUT } from '../workload.js'

type Input = typeof INPUT

/** For a new task whose input is {@link INPUT}: no output, messages, artifacts or metadata, one step of history. */
export function copyByHand(task: Task): Task {
  // The benchmark makes its tasks with this input.
  const input = task.input as Input
  return {
    ...task,
    input: { url: input.url, text: input.text, lines: input.lines },
    messages: task.messages.slice(),
    artifacts: task.artifacts.slice(),
    metadata: { ...task.metadata },
    history: task.history.map(({ state, timestamp }) => ({ state, timestamp })),
  }
}
