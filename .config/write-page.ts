/** `npm run page`: writes the page of the inspector as a module. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ASSET, pageAsset } from './inspector-page.js'

const root = fileURLToPath(new URL('..', import.meta.url))
writeFileSync(join(root, ASSET), await pageAsset(root))
