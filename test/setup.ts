import { endWithFile } from './end-of-file.ts';
import './equal-bytes.ts';

endWithFile();
