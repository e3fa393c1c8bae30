/** Saves every change of a TaskManager in order, and restores the tasks in a new process. */
import assert from 'node:assert/strict'
import { TaskManager, type TaskManagerOptions, type TaskSnapshot, restoreTasks } from 'a2a-tasks'

interface Database {
  getAllTasks: () => Promise<TaskSnapshot[]>
  saveTask: (task: TaskSnapshot) => Promise<void>
  deleteTask: (id: string) => Promise<void>
}

class PersistentTaskManager extends TaskManager {
  /** One write at a time, so an older version never replaces a newer one. */
  saved: Promise<void> = Promise.resolve()

  constructor(db: Database, options?: TaskManagerOptions) {
    super(options)
    const write = (job: () => Promise<void>): void => {
      this.saved = this.saved.then(job)
    }
    this.on('task:created', (task) => write(() => db.saveTask(task)))
    this.on('task:updated', (task) => write(() => db.saveTask(task)))
    this.on('task:expired', ({ id }) => write(() => db.deleteTask(id)))
    this.on('task:evicted', ({ id }) => write(() => db.deleteTask(id)))
  }

  async load(db: Database): Promise<this> {
    restoreTasks(this, await db.getAllTasks())
    // The worker of these tasks ended with its process.
    for (const { id } of this.listTasks({ state: 'working' })) {
      this.updateTask(id, { state: 'failed', message: 'The process ended' })
    }
    return this
  }
}

const rows = new Map<string, string>()
const db: Database = {
  getAllTasks: () => Promise.resolve([...rows.values()].map((row) => JSON.parse(row) as TaskSnapshot)),
  saveTask: (task) => Promise.resolve(void rows.set(task.id, JSON.stringify(task))),
  deleteTask: (id) => Promise.resolve(void rows.delete(id)),
}

const before = await new PersistentTaskManager(db).load(db)
const { id } = before.createTask({ skill: 'import', input: { rows: 1000 } })
before.updateTask(id, { state: 'working', message: 'Row 1' })
before.cancelTask(id, { message: 'Wrong file' })
const other = before.createTask({ skill: 'import' })
before.updateTask(other.id, { state: 'working' })
await before.saved

// The first process ends, and another begins. The cancellation is still known.
const after = await new PersistentTaskManager(db).load(db)
assert.deepEqual(after.getTask(id), before.getTask(id))
assert.equal(after.signalOf(id).aborted, true)
assert.equal(after.getTask(other.id)?.state, 'failed')

// The log of a restored task is empty: a reader with an older cursor gets the whole task.
assert.equal(after.events(id, { after: 1 })[0]?.type, 'resync')
console.log(after.listTasks().map(({ state, message }) => [state, message]))
