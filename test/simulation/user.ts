/** The user: begins the task, follows its stream, answers, signals, cancels, at any process. */
import { A2AError } from 'a2a-tasks'
import { answerTo } from './play.js'
import { fold, hasEnded, rpc, taskIn, textIn, type Answer, type SeenTask, type Status } from './wire.js'
import { TIMEOUT_MS, type Network } from './network.js'
import { SLOW_MS } from './store.js'
import { call } from './call.js'
import { USER, type Replica } from './replica.js'

export interface City extends Network {
  /** A process that answers, or the ruins of one. */
  readonly replicas: readonly Replica[]
  /** How many signals of this name the log has. */
  readonly signaled: (name: string) => number
}

interface Sent {
  readonly messageId: string
  readonly role: string
  readonly taskId?: string
  readonly parts: readonly { readonly text: string }[]
}

/** Messages that a client does not repeat. */
const FINAL = /terminal|completed|failed|canceled/

export class User {
  task: SeenTask | undefined
  /** Whether the stream has shown the end of the task. */
  isDone = false
  readonly #city: City
  readonly #signals: readonly string[]
  readonly #answered = new Set<string>()

  constructor(city: City, signals: readonly string[]) {
    this.#city = city
    this.#signals = signals
    void this.#live()
  }

  async #live(): Promise<void> {
    const { world, decisions, schedule } = this.#city
    if (schedule.cancelAtMs !== undefined) void this.#cancel(schedule.cancelAtMs)
    const message = { messageId: 'first', role: 'ROLE_USER', parts: [{ text: 'go' }] }
    const isStreaming = decisions.choose('begins by a stream', 2) === 1
    if (decisions.fails('twice', 'first')) void this.#send(message)
    for (let tries = 0; this.task === undefined; tries += 1) {
      if (tries > 0) await world.pause(200)
      if (isStreaming) await this.#follow('SendStreamingMessage', { message })
      else this.#read(await this.#send(message))
    }
    await this.#watch(this.task.id)
  }

  /** Follows the task until its end, at one process after the other. */
  async #watch(id: string): Promise<void> {
    while (!this.isDone) {
      await this.#follow('SubscribeToTask', { id })
      await this.#get(id)
      await this.#city.world.pause(100)
    }
  }

  async #get(id: string): Promise<void> {
    this.#read(taskIn(await this.#request('GetTask', { id })))
  }

  async #send(message: Sent): Promise<Answer | undefined> {
    if (this.#city.schedule.hasProducers && this.#city.decisions.choose('sent by a producer', 2) === 1) {
      const answer = await this.#produce(message)
      if (answer !== undefined) return answer
    }
    return await this.#request('SendMessage', { message, configuration: { returnImmediately: true } })
  }

  /** Reads a stream to its end, and answers what it asks. */
  async #follow(method: string, params: object): Promise<void> {
    const { world, decisions, schedule } = this.#city
    const replica = this.#replica(method)
    await world.pause(decisions.delay('user', schedule.networkMs))
    if (replica.isDead) return
    const opened = await this.#untilGone(replica, call(replica, rpc(method, params), schedule.overHttp))
    if (opened === undefined) return
    if (!(Symbol.asyncIterator in opened)) {
      this.#read(opened)
      return
    }
    for (;;) {
      const next = await this.#untilGone(replica, opened.next(), Infinity)
      if (next === undefined || next.done === true) return
      await world.pause(decisions.delay('user', schedule.networkMs))
      if (decisions.fails('network', 'user stream')) {
        void opened.return?.()
        return
      }
      this.#read(next.value)
    }
  }

  async #request(method: string, params: object): Promise<Answer | undefined> {
    const { world, decisions, schedule } = this.#city
    const replica = this.#replica(method)
    await world.pause(decisions.delay('user', schedule.networkMs))
    if (replica.isDead || decisions.fails('network', `user ${method} request`)) return undefined
    const answer = await this.#untilGone(replica, call(replica, rpc(method, params), schedule.overHttp))
    await world.pause(decisions.delay('user', schedule.networkMs))
    if (decisions.fails('network', `user ${method} response`)) return undefined
    // These methods do not stream.
    return answer as Answer | undefined
  }

  /** `undefined` where there is no producer. */
  async #produce({ messageId, taskId, parts }: Sent): Promise<Answer | undefined> {
    const replica = this.#replica('producer')
    const { producer, handler } = replica
    if (producer === undefined || replica.isDead) return undefined
    const sending = producer.send({ parts }, { messageId, taskId, principal: USER }).then(
      async ({ id }) => taskIn(await handler.dispatch(rpc('GetTask', { id }), { principal: USER })),
      // Its text has a word of final states.
      (error: unknown): Answer | undefined =>
        A2AError.is(error, 'STORE_FAILED') ? undefined : { error: { message: String(error) } },
    )
    return await this.#untilGone(replica, sending)
  }

  #replica(method: string): Replica {
    const { replicas, decisions } = this.#city
    const replica = replicas[decisions.choose(`user ${method} at`, replicas.length)]
    if (replica === undefined) throw new Error('There is a process')
    return replica
  }

  #untilGone<T>(replica: Replica, work: Promise<T>, limitMs = TIMEOUT_MS): Promise<T | undefined> {
    const { world } = this.#city
    return new Promise((resolve, reject) => {
      const cancel =
        limitMs === Infinity ? undefined : world.after(limitMs, 'user gives up', () => resolve(undefined))
      const settle = (value: T | undefined): void => {
        cancel?.()
        resolve(value)
      }
      void replica.gone.then(() => settle(undefined))
      work.then(settle, reject)
    })
  }

  #read(answer: Answer | undefined): void {
    const task = fold(this.task, answer ?? {})
    if (task === undefined) return
    const isNew = this.task === undefined
    this.task = task
    if (isNew) this.#begun(task.id)
    if (hasEnded(task)) this.isDone = true
    const { state, message } = task.status
    const isAsked = state === 'TASK_STATE_INPUT_REQUIRED' || state === 'TASK_STATE_AUTH_REQUIRED'
    if (isAsked && message !== undefined) void this.#answer(task.id, message)
  }

  #begun(taskId: string): void {
    for (const name of new Set(this.#signals)) void this.#signal(taskId, name)
    for (const [at, ms] of this.#city.schedule.extras.entries()) void this.#say(taskId, `extra ${at}`, ms)
  }

  async #say(taskId: string, text: string, ms: number): Promise<void> {
    await this.#city.world.pause(ms)
    if (this.#city.decisions.fails('twice', text)) void this.#sendSurely(taskId, text, text)
    await this.#sendSurely(taskId, text, text)
  }

  /** Sends a message until it is accepted or refused. */
  async #sendSurely(taskId: string, messageId: string, text: string): Promise<void> {
    const message = { messageId, role: 'ROLE_USER', taskId, parts: [{ text }] }
    for (;;) {
      const answer = await this.#send(message)
      if (answer?.result !== undefined || FINAL.test(answer?.error?.message ?? '')) return
      await this.#city.world.pause(300)
    }
  }

  async #answer(taskId: string, { messageId, parts }: NonNullable<Status['message']>): Promise<void> {
    if (this.#answered.has(messageId)) return
    this.#answered.add(messageId)
    const { world, decisions } = this.#city
    const text = answerTo(textIn({ parts }))
    if (text === undefined) return
    await world.pause(decisions.delay('user thinks', 1_000))
    if (decisions.fails('twice', 'answer')) void this.#sendSurely(taskId, `re-${messageId}`, text)
    await this.#sendSurely(taskId, `re-${messageId}`, text)
  }

  /** Sends the signals of one name, one after the other, until the log has each. */
  async #signal(taskId: string, name: string): Promise<void> {
    const { world, decisions, signaled } = this.#city
    const count = this.#signals.filter((each) => each === name).length
    for (let n = 1; n <= count; n += 1) {
      await world.pause(decisions.delay('signal', 2_000))
      while (signaled(name) < n) {
        const replica = this.#replica('signal')
        if (!replica.isDead) {
          const sent = replica.tasks.signal(taskId, name, `signal ${n}`).then(
            () => true,
            () => false,
          )
          const isSent = await this.#untilGone(replica, sent, Infinity)
          // What a call that failed has sent may still arrive.
          if (isSent !== true) await world.pause(SLOW_MS)
        }
        await world.pause(300)
        if (this.isDone) return
      }
    }
  }

  async #cancel(atMs: number): Promise<void> {
    const { world } = this.#city
    await world.pause(atMs)
    while (!this.isDone) {
      const { task } = this
      const answer = task && (await this.#request('CancelTask', { id: task.id }))
      if (answer?.result !== undefined) return
      await world.pause(300)
    }
  }
}
