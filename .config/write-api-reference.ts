/** `npm run docs`: writes the pages of the API reference. */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { apiReference } from './api-reference.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const pages = apiReference(root)
for (const folder of new Set([...pages.keys()].map((page) => join(root, dirname(page))))) {
  mkdirSync(folder, { recursive: true })
  for (const file of readdirSync(folder)) rmSync(join(folder, file))
}
for (const [page, text] of pages) writeFileSync(join(root, page), text)
