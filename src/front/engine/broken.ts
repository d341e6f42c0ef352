// Pure; used by the engines. Owns the answer to a fault of the front's own.

import { DroverError } from '../../shared/errors.js';
import { errorResponse } from '../responses.js';

export const BROKEN = errorResponse(new DroverError('internal'));
