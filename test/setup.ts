import { endWithFile } from './end-of-file.ts';

endWithFile();
