/** A step that writes to the database of the tasks: what it writes and its output are one transaction. */
import assert from 'node:assert/strict'
import { A2AClient } from 'a2a-tasks/client'
import { createRequestHandler } from 'a2a-tasks/server'
import { openTasks } from 'a2a-tasks/stores/sqlite'
import Database from 'libsql'

const database = new Database(':memory:')
database.exec('CREATE TABLE accounts (name TEXT PRIMARY KEY, balance INTEGER CHECK (balance >= 0))')
database.exec(`INSERT INTO accounts VALUES ('ada', 100), ('bob', 0)`)

const tasks = await openTasks(database)
const bank = createRequestHandler({
  card: { name: 'Bank', url: 'https://bank.example' },
  tasks,
  async execute(run) {
    const amount = Number(run.text)
    try {
      // Both updates, and the note that the step is done, are stored together, or none of them.
      await run.transaction('transfer', (client: Database.Database) => {
        const add = client.prepare('UPDATE accounts SET balance = balance + ? WHERE name = ?')
        add.run(amount, 'bob')
        add.run(-amount, 'ada')
      })
      return `Moved ${amount}`
    } catch {
      return `Ada does not have ${amount}`
    }
  },
})

const client = new A2AClient({ card: bank.card, fetch: (url, init) => bank.fetch(new Request(url, init)) })
for (const amount of ['30', '80']) {
  const { text } = await client.run(amount)
  console.log(text)
}
const accounts = database.prepare('SELECT name, balance FROM accounts ORDER BY name').raw().all()
console.log(accounts.join(' '))
assert.deepEqual(accounts, [
  ['ada', 70],
  ['bob', 30],
])

await bank.close()
await tasks.destroy()
