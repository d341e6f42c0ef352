// Pure; used by the engines. Owns the answer to a fault of the front's own.

import { DroverError } from '../../shared/errors.js';
import { errorAnswer } from '../responses.js';

export const BROKEN = errorAnswer(new DroverError('internal'));
