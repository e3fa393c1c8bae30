/** Tasks that outlive the process: saved at every change, restored at the start. No cancellation is lost. */
import assert from 'node:assert/strict'
import { TaskManager, type TaskManagerOptions, type TaskSnapshot } from 'a2a-tasks'

interface Database {
  getAllTasks: () => Promise<TaskSnapshot[]>
  saveTask: (task: TaskSnapshot) => Promise<void>
}

class PersistentTaskManager extends TaskManager {
  readonly #db: Database

  constructor(db: Database, options?: TaskManagerOptions) {
    super(options)
    this.#db = db
    // A promise that rejects here is reported on 'listener:error'.
    this.on('task:created', (task) => this.#db.saveTask(task) as unknown)
    this.on('task:updated', (task) => this.#db.saveTask(task) as unknown)
  }

  async load(): Promise<this> {
    this.restore(await this.#db.getAllTasks())
    return this
  }
}

const rows = new Map<string, string>()
const db: Database = {
  getAllTasks: () => Promise.resolve([...rows.values()].map((row) => JSON.parse(row) as TaskSnapshot)),
  saveTask: (task) => Promise.resolve(void rows.set(task.id, JSON.stringify(task))),
}

const before = await new PersistentTaskManager(db).load()
const { id } = before.createTask({ skill: 'import', input: { rows: 1000 } })
before.updateTask(id, { state: 'working', message: 'Row 1' })
before.cancelTask(id, { message: 'Wrong file' })

// The process ends here; another begins.
const after = await new PersistentTaskManager(db).load()
assert.deepEqual(after.getTask(id), before.getTask(id))
assert.equal(after.getTask(id)?.state, 'canceled')

// Its log begins anew: a reader from before gets the whole task instead of silence.
assert.equal(after.events(id, { after: 1 })[0]?.type, 'resync')
console.log(after.getTask(id)?.message)
