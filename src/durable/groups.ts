/**
 * Commits that are ready together, sent to a database as one group.
 *
 * A database needs a round trip and a write to the disk for each call. Commits of different tasks do not depend on each other, so
 * those that wait at the same time can share both.
 *
 * @module
 */
import { systemClock } from '../runtime/clock.js'

/** A commit that may share a call with others. */
export interface Member {
  readonly taskId: string
  readonly commitId: string
  /** The length of its texts, in UTF-16 units. */
  readonly size: number
}

export interface GroupLimits {
  /** The most commits of a group. */
  readonly members: number
  /** The most UTF-16 units of a group. A larger commit is sent alone. */
  readonly size: number
  /** The most groups that are under way at a time. */
  readonly groups: number
}

/** How a database carries out commits. */
export interface GroupCalls<M, R> {
  /** Carries out commits of different tasks. Answers each one of several, or `undefined` for it to be sent again alone. */
  readonly send: (members: readonly M[]) => Promise<readonly (R | undefined)[]>
  /** Whether a group may have failed because of one of its commits. Each is sent again alone then. Otherwise all fail. */
  readonly mayBeOfOne: (error: unknown) => boolean
}

interface Waiting<M, R> {
  readonly member: M
  readonly resolve: (result: R | PromiseLike<R>) => void
  readonly reject: (error: unknown) => void
}

/** How long commits wait for groups that get no answer, as on a connection that has fallen silent. */
const SILENT_MS = 1_000

/**
 * Sends commits at the end of the current microtask, or as soon as a group before them is answered. A group has one commit of a
 * task at most, and different commits of a task are sent in their order. A repeated one does not wait for its first attempt.
 */
export class Groups<M extends Member, R> {
  readonly #limits: GroupLimits
  readonly #calls: GroupCalls<M, R>
  #waiting: Waiting<M, R>[] = []
  /** The ids of the commits that are under way, by task. */
  readonly #underWay = new Map<string, string>()
  #groups = 0
  #isDue = false

  constructor(limits: GroupLimits, calls: GroupCalls<M, R>) {
    this.#limits = limits
    this.#calls = calls
  }

  /** Resolves to the answer to this commit. */
  commit(member: M): Promise<R> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ member, resolve, reject })
      this.#startSoon()
    })
  }

  /** Callers that get an answer often commit again: these commits join those that wait. */
  #startSoon(): void {
    if (this.#isDue || this.#waiting.length === 0) return
    this.#isDue = true
    void Promise.resolve().then(() => {
      this.#isDue = false
      this.#start()
    })
  }

  #start(): void {
    for (let free = this.#limits.groups - this.#groups; free > 0; free -= 1) {
      const group = this.#take(Math.ceil(this.#waiting.length / free))
      if (group.length > 0) void this.#send(group)
    }
  }

  /** Takes the longest-waiting commits that can be sent now. */
  #take(share: number): readonly Waiting<M, R>[] {
    const { members, size } = this.#limits
    const group: Waiting<M, R>[] = []
    let left: Waiting<M, R>[] = []
    const passed = new Set<string>()
    let total = 0
    for (const [index, waiting] of this.#waiting.entries()) {
      const { member } = waiting
      const isFull = group.length >= Math.min(share, members) || (total + member.size > size && total > 0)
      if (isFull) {
        left = [...left, ...this.#waiting.slice(index)]
        break
      }
      const underWay = this.#underWay.get(member.taskId) ?? member.commitId
      if (passed.has(member.taskId) || underWay !== member.commitId) {
        left.push(waiting)
      } else {
        group.push(waiting)
        total += member.size
      }
      passed.add(member.taskId)
    }
    this.#waiting = left
    return group
  }

  async #send(group: readonly Waiting<M, R>[]): Promise<void> {
    this.#groups += 1
    for (const { member } of group) this.#underWay.set(member.taskId, member.commitId)
    let hasEnded = false
    const end = (): void => {
      if (hasEnded) return
      hasEnded = true
      this.#groups -= 1
      for (const { member } of group) this.#underWay.delete(member.taskId)
      this.#startSoon()
    }
    const cancel = systemClock.schedule(end, SILENT_MS)
    const left = await this.#answer(group)
    cancel()
    end()
    for (const waiting of left) void this.#send([waiting])
  }

  /** Resolves to the commits that have to be sent alone. Never rejects. */
  async #answer(group: readonly Waiting<M, R>[]): Promise<readonly Waiting<M, R>[]> {
    const { send, mayBeOfOne } = this.#calls
    try {
      const answers = await send(group.map(({ member }) => member))
      const left = group.filter(({ resolve }, index) => {
        const answer = answers[index]
        if (answer !== undefined) resolve(answer)
        return answer === undefined
      })
      if (group.length > 1) return left
      for (const { reject } of left) reject(new Error('The database has not answered a commit'))
      return []
    } catch (error) {
      if (group.length > 1 && mayBeOfOne(error)) return group
      for (const { reject } of group) reject(error)
      return []
    }
  }
}

/** The length of all texts, in UTF-16 units. */
export function sizeOf(texts: readonly string[]): number {
  return texts.reduce((size, { length }) => size + length, 0)
}
