/** Runs before each test file. */
import { refuseWarnings } from './warnings.js'

refuseWarnings()
