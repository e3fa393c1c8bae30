/**
 * Status messages of an agent, for tasks that it returns without them.
 *
 * @module
 */
import type { Message } from '../../core/task.js'
import { textOf } from '../../wire/text.js'
import { toolCallsIn } from '../../wire/tool-calls.js'
import type { RemoteTask } from '../../wire/client/dialect.js'

/** Maximum size of what is kept, in UTF-16 code units. The oldest messages go first. */
const MAX_LENGTH = 4_194_304

/** The status messages of an agent in one turn. */
export class Said {
  readonly #messages = new Map<string, readonly [message: Message, size: number]>()
  #length = 0

  add(message: Message, size: number): void {
    if (message.role !== 'agent') return
    this.#remove(message.messageId)
    this.#messages.set(message.messageId, [message, size])
    this.#length += size
    for (const id of this.#messages.keys()) {
      if (this.#length <= MAX_LENGTH || this.#messages.size === 1) return
      this.#remove(id)
    }
  }

  clear(): void {
    this.#messages.clear()
    this.#length = 0
  }

  /**
   * The task with the messages of this turn that it lacks. The text of the turn becomes the status message if the task has
   * no other text.
   */
  addTo(task: RemoteTask): RemoteTask {
    const { message, messages, artifacts } = task
    const said = [...this.#messages.values()].map(([each]) => each)
    const known = new Set([message, ...messages].map((each) => each?.messageId))
    const lacking = said.filter(({ messageId }) => !known.has(messageId))
    const [last] = lacking.slice(-1)
    if (last === undefined) return task
    const final = messages.at(-1)
    const isAnswered = final?.role === 'agent' && !this.#messages.has(final.messageId)
    const hasText = isAnswered || message !== undefined || artifacts.some((each) => textOf(each) !== '')
    // A message about a call of a tool reports work, and says nothing.
    const spoken = said.filter((each) => toolCallsIn(each).length === 0)
    const text = hasText ? '' : spoken.map(textOf).join('')
    const [only, ...others] = spoken
    const summary =
      only !== undefined && others.length === 0
        ? only
        : { ...last, messageId: `${last.messageId}/text`, parts: [{ text }] }
    return {
      ...task,
      ...(text !== '' && { message: summary }),
      // The answer comes after what was said before it.
      messages: messages.toSpliced(isAnswered ? -1 : messages.length, 0, ...lacking),
    }
  }

  #remove(id: string): void {
    this.#length -= this.#messages.get(id)?.[1] ?? 0
    this.#messages.delete(id)
  }
}
