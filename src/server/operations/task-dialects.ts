/**
 * In which dialect a task was asked for.
 *
 * Some methods have one name, and parameters of one shape, in several versions: `tasks/get` is 0.3's, 0.1's and KAOS'.
 * A client that names no version is answered in that in which it made the task.
 *
 * @module
 */
import { hasLoneSurrogate } from '../../core/json.js'
import type { LocalTasks, SharedTasks, MaybePromise } from '../../core/managers.js'
import type { TaskSnapshot } from '../../core/task.js'
import type { TaskDocument } from '../../core/documents.js'
import type { Dialect } from '../../wire/dialect.js'
import type { AcceptedMessage } from '../runs/accepted-message.js'
import type { Settings } from '../options.js'
import { isShared } from '../tasks.js'
import type { Caller, Principal } from '../caller.js'

export interface Origins {
  /** Remembers who made a task, unless he has said which version he speaks: he will say it again. */
  note(taskId: string, caller: Caller): void
  /** What comes of a message, once what was noted of it is where every process finds it. */
  keep(accepted: Promise<AcceptedMessage>, caller: Caller): Promise<AcceptedMessage>
  /** `undefined` also for what somebody else has made: nobody learns of it. */
  of(taskId: string, principal: Principal | undefined): MaybePromise<Dialect | undefined>
  close(): void
}

type Needed = 'tasks' | 'dialects' | 'onError' | 'clock'

export function toOrigins(settings: Pick<Settings, Needed>): Origins {
  const { tasks, dialects } = settings
  return isShared(tasks) ? new SharedOrigins(tasks, settings) : new LocalOrigins(tasks, dialects[0])
}

interface Origin {
  readonly dialect: Dialect
  readonly principalId: string | undefined
}

/** Holds what there is to remember for as long as the task is held. */
class LocalOrigins implements Origins {
  readonly #tasks: LocalTasks
  readonly #preferred: Dialect
  readonly #byTask = new Map<string, Origin>()
  #isListening = false

  constructor(tasks: LocalTasks, preferred: Dialect) {
    this.#tasks = tasks
    this.#preferred = preferred
  }

  note(taskId: string, { dialect, namesVersion, principal }: Caller): void {
    // Of one that had the id before, and has only just gone.
    this.#byTask.delete(taskId)
    if (namesVersion || dialect === this.#preferred) return
    if (!this.#isListening) this.#listen()
    this.#byTask.set(taskId, { dialect, principalId: principal?.id })
  }

  keep(accepted: Promise<AcceptedMessage>): Promise<AcceptedMessage> {
    return accepted
  }

  of(taskId: string, principal: Principal | undefined): Dialect | undefined {
    const origin = this.#byTask.get(taskId)
    return origin?.principalId === principal?.id ? origin?.dialect : undefined
  }

  close(): void {
    this.#byTask.clear()
    this.#tasks.off('task:expired', this.#forget)
    this.#tasks.off('task:evicted', this.#forget)
  }

  #listen(): void {
    this.#isListening = true
    this.#tasks.on('task:expired', this.#forget)
    this.#tasks.on('task:evicted', this.#forget)
  }

  /** Another may have the id by now: what a listener does comes before what the next one hears. */
  readonly #forget = ({ id }: TaskSnapshot): void => {
    if (this.#tasks.peekTask(id) === null) this.#byTask.delete(id)
  }
}

/** What was read of a task; of an old one also if that is nothing. */
interface Known {
  readonly createdAt: string
  readonly origin: StoredOrigin | undefined
}

interface StoredOrigin {
  /** Its `version`. */
  readonly dialect: string
  readonly principalId: string | null
}

const KIND = 'origin'
/** How many tasks' origins are remembered here. */
const MAX_KNOWN = 10_000
const MAX_ID = 1_024
/** How old a task is, in milliseconds, when what was not noted of it until then is not on its way any more. */
const NOTED_MS = 60_000

/** What there is to remember stands beside the task in the store. */
class SharedOrigins implements Origins {
  readonly #tasks: SharedTasks
  readonly #settings: Pick<Settings, Needed>
  /** The tasks that are noted, and not stored yet. */
  readonly #noted = new WeakMap<Caller, string>()
  /** The one that was read first is the first. */
  readonly #known = new Map<string, Known>()

  constructor(tasks: SharedTasks, settings: Pick<Settings, Needed>) {
    this.#tasks = tasks
    this.#settings = settings
  }

  note(taskId: string, caller: Caller): void {
    if (!caller.namesVersion && caller.dialect !== this.#settings.dialects[0]) this.#noted.set(caller, taskId)
  }

  async keep(accepted: Promise<AcceptedMessage>, caller: Caller): Promise<AcceptedMessage> {
    const result = await accepted
    const taskId = this.#noted.get(caller)
    if (result.type !== 'task' || result.taskId !== taskId) return result
    try {
      await this.#store(taskId, caller)
    } catch (error) {
      // The task is there, and who names his version is answered in it all the same.
      this.#settings.onError(error, { during: 'SendMessage', taskId })
    }
    return result
  }

  async of(taskId: string, principal: Principal | undefined): Promise<Dialect | undefined> {
    // Nobody has looked at it yet, and stores have no others.
    if (taskId === '' || taskId.length > MAX_ID || hasLoneSurrogate(taskId)) return undefined
    const origin = await this.#originOf(taskId)
    if (origin === undefined || (origin.principalId ?? undefined) !== principal?.id) return undefined
    return this.#settings.dialects.find(({ version }) => version === origin.dialect)
  }

  close(): void {
    this.#known.clear()
  }

  async #store(taskId: string, { dialect, principal }: Caller): Promise<void> {
    const task = this.#tasks.lastSeen(taskId) ?? (await this.#tasks.peekTask(taskId))
    if (task === null) return
    const { createdAt } = task
    const origin = { dialect: dialect.version, principalId: principal?.id ?? null }
    await this.#tasks.documents.putDocument(
      { key: { id: taskId, createdAt }, kind: KIND, id: KIND, value: origin },
      0,
    )
    this.#remember(taskId, { createdAt, origin })
  }

  async #originOf(taskId: string): Promise<StoredOrigin | undefined> {
    // Should it have gone where nobody has told us, one answer is in the dialect of the one before it.
    const present = this.#knownOf(this.#tasks.lastSeen(taskId))
    if (present !== undefined) return present.origin
    const task = await this.#tasks.peekTask(taskId)
    if (task === null) return undefined
    const known = this.#knownOf(task)
    if (known !== undefined) return known.origin
    const { createdAt } = task
    const [found] = await this.#tasks.documents.documents({ id: taskId, createdAt }, KIND)
    const origin = found && toOrigin(found)
    // It is stored after its task, and who asks in between may be anybody.
    const isOld = this.#settings.clock.now() - Date.parse(createdAt) > NOTED_MS
    if (origin !== undefined || isOld) this.#remember(taskId, { createdAt, origin })
    return origin
  }

  /** Of this very task: there may have been another one of its id. */
  #knownOf(task: TaskSnapshot | undefined): Known | undefined {
    const known = task && this.#known.get(task.id)
    return known?.createdAt === task?.createdAt ? known : undefined
  }

  #remember(taskId: string, known: Known): void {
    this.#known.set(taskId, known)
    const [first] = this.#known.keys()
    if (this.#known.size > MAX_KNOWN && first !== undefined) this.#known.delete(first)
  }
}

function toOrigin({ value }: TaskDocument): StoredOrigin {
  // It went in as such.
  return value as unknown as StoredOrigin
}
