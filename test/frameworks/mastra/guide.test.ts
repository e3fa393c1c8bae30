/** The page about Mastra, whose packages run on Node 22 only: `npm run test:mastra` takes that from npm. */
import { expect, test } from 'vitest'
import { describeWith, runsMastra } from '../installed.js'
import { read } from '../../support/repository.js'
import { testPrograms } from '../programs.js'

if (runsMastra)
  describeWith('@mastra/core', () => {
    testPrograms({
      page: 'docs/guides/mastra.md',
      mark: 'mastra',
      packages: ['@mastra'],
      uses: `
import { Agent } from '@mastra/core/agent'
import { aiSdk } from 'a2a-tasks/ai'
import { fakeModel } from 'a2a-tasks/testing'
import type { Run } from 'a2a-tasks/server'

declare const run: Run
const agent = new Agent({ id: 'a', name: 'A', instructions: '', model: aiSdk(run).model(fakeModel(['Hi'])) })
await (await agent.stream('Hi')).text
`,
    })
  })
else
  test(`Mastra needs Node 22.13, and this is ${process.version}: npm run test:mastra`, () => {
    expect(read('package.json')).toContain('"test:mastra"')
  })
