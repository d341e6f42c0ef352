import { DroverError } from '../../shared/errors.js';
import { errorResponse } from './responses.js';

export const BROKEN = errorResponse(new DroverError('internal'));
