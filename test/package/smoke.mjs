import * as core from 'a2a-tasks'
import * as testing from 'a2a-tasks/testing'
import { live } from './smoke-life.mjs'

console.log('import:', await live(core, testing))
