import * as core from 'a2a-tasks'
import * as server from 'a2a-tasks/server'
import * as testing from 'a2a-tasks/testing'
import { live } from './smoke-life.mjs'

console.log('import:', await live(core, server, testing))
