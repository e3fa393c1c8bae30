/**
 * The examples of the TaskManager module's documentation, as they stand there, with `import` for `require`. Where our
 * task has more than theirs, only theirs is looked at.
 */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  DEFAULT_EXPIRY_MS,
  DEFAULT_MAX_INPUT_SIZE,
  MAX_TASKS,
  TaskManager,
  type TaskManagerOptions,
  type TaskSnapshot,
  type TaskUpdate,
  restoreTasks,
} from 'a2a-tasks'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

test('the constants have their documented values', () => {
  expect([MAX_TASKS, DEFAULT_EXPIRY_MS, DEFAULT_MAX_INPUT_SIZE]).toEqual([1000, 86_400_000, 1_048_576])
})

test('the complete workflow example runs', () => {
  const log: string[] = []
  const taskManager = new TaskManager({ maxTasks: 100 })

  taskManager.on('task:created', (task) => {
    log.push(`Task created for skill ${task.skill}`)
  })
  taskManager.on('task:stateChange', ({ taskId, from, to }) => {
    log.push(`${taskId === task.id ? 'Task' : 'Another task'}: ${from} → ${to}`)
  })

  const task = taskManager.createTask({
    skill: 'document-processing',
    input: { documentId: 'doc-123', options: { extractText: true } },
    metadata: { department: 'legal', priority: 'medium' },
  })

  setTimeout(() => {
    taskManager.updateTask(task.id, { state: 'working', message: 'Starting document analysis...' })
  }, 1000)
  setTimeout(() => {
    taskManager.updateTask(task.id, {
      state: 'input-required',
      message: 'Please specify which sections to extract',
    })
  }, 2000)
  setTimeout(() => {
    taskManager.updateTask(task.id, { state: 'working', message: 'Resuming processing with user input...' })
  }, 3000)
  setTimeout(() => {
    taskManager.updateTask(task.id, {
      state: 'completed',
      output: {
        extractedText: '...',
        summary: 'Document analysis complete',
        sections: ['intro', 'conclusion'],
      },
      artifacts: [{ type: 'summary', url: '/reports/doc-123-summary.pdf' }],
      message: 'Processing completed successfully',
    })
  }, 4000)
  vi.advanceTimersByTime(4000)

  expect(log).toEqual([
    'Task created for skill document-processing',
    'Task: submitted → working',
    'Task: working → input-required',
    'Task: input-required → working',
    'Task: working → completed',
  ])
  expect(taskManager.getTask(task.id)).toMatchObject({
    id: task.id,
    skill: 'document-processing',
    state: 'completed',
    input: { documentId: 'doc-123', options: { extractText: true } },
    output: { summary: 'Document analysis complete' },
    artifacts: [{ type: 'summary', url: '/reports/doc-123-summary.pdf' }],
    metadata: { department: 'legal', priority: 'medium' },
    message: 'Processing completed successfully',
  })
})

test('the error handling example runs', () => {
  const said: string[] = []
  const create = (taskManager: TaskManager, veryLargeObject: object): void => {
    try {
      taskManager.createTask({ skill: 'data-processing', input: veryLargeObject })
    } catch (error) {
      const { message } = error as Error
      if (message.includes('Input size')) said.push('Input too large, please reduce payload size')
      else if (message.includes('Maximum task limit')) said.push('System busy, please try again later')
      else said.push(`Error creating task: ${message}`)
    }
  }
  create(new TaskManager(), { text: 'x'.repeat(2 ** 20) })
  const full = new TaskManager({ maxTasks: 1 })
  create(full, {})
  create(full, {})
  expect(said).toEqual(['Input too large, please reduce payload size', 'System busy, please try again later'])
})

test('the safe update pattern distinguishes its cases', () => {
  const taskManager = new TaskManager()
  const safeUpdate = (taskId: string, update: TaskUpdate): string => {
    try {
      taskManager.updateTask(taskId, update)
      return 'updated'
    } catch (error) {
      const { message } = error as Error
      if (message.includes('Task not found')) return 'Task may have been deleted or expired'
      if (message.includes('terminal state')) return 'Task already completed/failed/canceled'
      if (message.includes('Invalid transition')) return 'Invalid state transition attempted'
      throw error
    }
  }
  const { id } = taskManager.createTask({ skill: 'data-analysis' })
  expect(safeUpdate('unknown', { state: 'working' })).toBe('Task may have been deleted or expired')
  expect(safeUpdate(id, { state: 'completed' })).toBe('Invalid state transition attempted')
  expect(safeUpdate(id, { state: 'working' })).toBe('updated')
  expect(safeUpdate(id, { state: 'working' })).toBe('Invalid state transition attempted')
  taskManager.cancelTask(id)
  expect(safeUpdate(id, { message: 'late' })).toBe('Task already completed/failed/canceled')
})

describe('the persistence example', () => {
  interface Database {
    getAllTasks: () => Promise<TaskSnapshot[]>
    saveTask: (task: TaskSnapshot) => Promise<void>
  }

  class PersistentTaskManager extends TaskManager {
    readonly loaded: Promise<void>
    readonly #db: Database

    constructor(db: Database, options?: TaskManagerOptions) {
      super(options)
      this.#db = db
      this.loaded = this.#loadFromDB()
      this.on('task:created', (task) => void this.#saveTask(task))
      this.on('task:updated', (task) => void this.#saveTask(task))
    }

    async #loadFromDB(): Promise<void> {
      restoreTasks(this, await this.#db.getAllTasks())
    }

    async #saveTask(task: TaskSnapshot): Promise<void> {
      await this.#db.saveTask(task)
    }
  }

  function database(): Database & { rows: Map<string, string> } {
    const rows = new Map<string, string>()
    return {
      rows,
      getAllTasks: () => Promise.resolve([...rows.values()].map((row) => JSON.parse(row) as TaskSnapshot)),
      saveTask: (task) => {
        rows.set(task.id, JSON.stringify(task))
        return Promise.resolve()
      },
    }
  }

  test('restores what it saved, and loses no cancellation', async () => {
    const db = database()
    const first = new PersistentTaskManager(db)
    await first.loaded
    const { id } = first.createTask({ skill: 'test' })
    first.updateTask(id, { state: 'working' })
    first.cancelTask(id)

    const second = new PersistentTaskManager(db)
    await second.loaded
    expect(second.getTask(id)).toEqual(first.getTask(id))
    expect(second.getTask(id)?.state).toBe('canceled')
  })
})
